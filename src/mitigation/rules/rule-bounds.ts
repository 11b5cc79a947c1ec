/** The bounds by which attack packets are separated from users' packets and rules are made, with their reasons. */

/** Fewer packets of earlier traffic show too few of a host's services to be compared with. */
export const PROFILE_PACKETS_MIN = 48;
/** Packets alike must exceed what users explain by this factor; below, chance in two samples may do the same. */
export const EXCESS_FACTOR = 2;
/** A port or length with this share of its protocol or kind is compared by itself, others in groups. */
export const HEAVY_PORT_SHARE = 0.02;
export const HEAVY_LENGTH_SHARE = 0.05;
/** A value that fewer packets have may be chance. */
export const HEAVY_PACKETS_MIN = 4;

/** Less than this of all traffic is chance, or not what exceeds the threshold. */
export const ATTACK_SHARE_MIN = 0.02;
/** A rule is made for at least this share of the attack; a smaller part is not worth a route. */
export const PART_SHARE_MIN = 0.005;
/** The number of packets that a rule is made from at least: fewer may be of users. */
export const RULE_PACKETS_MIN = 6;
/** Packets alike that chance may add to a sample, beside twice the square root of those expected. */
export const PART_PACKETS_MIN = 2;
/**
 * The share of the attack that rules may leave. A rule list that leaves less is not changed, so that chance in the
 * samples does not move rules.
 */
export const LEFT_SHARE_MAX = 0.01;
/** The share of users' packets that one rule may match: chance, and packets of the attack in the profile. */
export const USERS_MATCHED_MAX = 0.002;
/** A list that matches more users than this is made again, if the packets of the attack can be distinguished from them. */
export const USERS_KEPT_MAX = 0.004;
/** One percent of the users matched weighs as much as this many percent of the attack missed. */
export const USERS_WEIGHT = 100;
/** A match field must leave this much of what a rule matches of the attack, else it fits chance. */
export const FIELD_SHARE_MIN = 0.2;
/** A rule without a range of lengths is preferred if it matches this share of its kind. */
export const SIMPLE_SHARE_MIN = 0.9;
/** Ports are left out of a rule if this share of the users that it matches has them. */
export const LEFT_OUT_SHARE_MIN = 0.1;
export const LEFT_OUT_PACKETS_MIN = 2;
/** Between two lists of rules, one percent of the users matched weighs as much as this many percent of the attack. */
export const WORTH_OF_USERS = 5;
/** Other rules must be better than those in force by this, as a share of the attack matched. */
export const BETTER_MIN = 0.03;
/** A match field must improve a rule by this. */
export const GAIN_MIN = 0.005;
export const FIELDS_MAX = 4;
/** It must match this share of the attack: for less, users are not worth it. */
export const MIXED_SHARE_MIN = 0.1;
/** The same two weights for rules that match users too: they may match users, and must match most of the attack. */
export const MIXED_USERS_WEIGHT = 1;
export const MIXED_KEPT_MIN = 0.9;
/** Other rules that match users too must be better than those in force by this. */
export const MIXED_BETTER_MIN = 0.15;

/** A rule that cannot be expressed is replaced if others match this share of the attack packets that it matches. */
export const REPLACED_SHARE_MIN = 0.98;

/** The cost of a match field in addition to the packets it misses: none for a plain value, then exclusions, then a range. */
export const LEFT_OUT_COST = 0.005;
export const RANGE_COST = 0.02;
/** A range of lengths must leave out at least this number of packets of users: fewer may be there by chance. */
export const RANGE_SPARED_MIN = 3;

/** With fewer packets, common values may be chance. */
export const COMMON_PACKETS_MIN = 32;
/** The share of packets that may differ from what they have in common. */
export const COMMON_SLACK = 0.005;
/** The same where packets of users may be among them. */
export const MIXED_SLACK = 0.03;
/** The least share of packets for each port of a list. */
export const LISTED_PORT_SHARE_MIN = 0.03;
/** The least share of a source port that one source alone uses. */
export const LONE_PORT_SHARE_MIN = 0.2;
