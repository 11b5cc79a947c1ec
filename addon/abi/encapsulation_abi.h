/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Encapsulations of packets, as both parsers remove them: the one of the kernel (bpf/take_apart.h) and the one of user
 * space (core/parse/take_apart.cpp). A test runs both over the same frames.
 */
#pragma once

#include <linux/types.h>

/* A set of kinds has one bit for each. */
enum encapsulation {
  /* RFC 3032, and RFC 4023 in IP: a stack of labels, then an IP packet, or an Ethernet frame, with a control word
   * (RFC 4385) before it or without. */
  ENCAPSULATION_MPLS = 0,
  /* RFC 2516: IP in PPP over Ethernet, sessions only; the protocol in two bytes or in one (RFC 1661, 6.5). */
  ENCAPSULATION_PPPOE = 1,
  /* RFC 2784 with key and sequence number (RFC 2890): IP, an Ethernet frame (NVGRE, RFC 7637) or MPLS. */
  ENCAPSULATION_GRE = 2,
  /* draft-foschiano-erspan-03, types I, II and III: mirrored Ethernet frames in GRE. */
  ENCAPSULATION_ERSPAN = 3,
  /* RFC 2003 and RFC 2473: IPv4 in IPv4 or IPv6. */
  ENCAPSULATION_IPIP = 4,
  /* RFC 4213 and RFC 2473: IPv6 in IPv4 or IPv6. */
  ENCAPSULATION_6IN4 = 5,
  /* RFC 7348. */
  ENCAPSULATION_VXLAN = 6,
  /* RFC 8926. */
  ENCAPSULATION_GENEVE = 7,
  /* 3GPP TS 29.281: user data (G-PDU) of version 1. */
  ENCAPSULATION_GTP_U = 8,
  ENCAPSULATIONS = 9,
  ENCAPSULATION_NONE = 9,
};

/* Limits of both parsers. Headers beyond them belong to the last packet that could be read. */
#define VLAN_TAGS_MAX 8
#define MPLS_LABELS_MAX 16
/* Tunnels in one another; MPLS and PPPoE between Ethernet and IP are none. */
#define TUNNELS_MAX 4
#define GTP_EXTENSIONS_MAX 4
/* The last byte that the IP header of a packet out of a tunnel may begin at. */
#define NETWORK_AT_MAX 254
/* Ethernet headers before one IP header: of the frame, and of an Ethernet frame in MPLS. */
#define ETHERNETS_MAX 2
/* Bytes that may follow a packet behind labels: a frame's check sequence; and in the shortest frame, which has
 * PADDED_MAX bytes behind one label, padding. */
#define CHECK_SEQUENCE 4
#define PADDED_MAX 46

/* RFC 7348, RFC 8926, TS 29.281: destination ports. That of VXLAN is the one where no others are configured. */
#define PORT_VXLAN 4789
#define PORT_GENEVE 6081
#define PORT_GTP_U 2152
#define VXLAN_PORTS_MAX 4

/* Ethernet types. The third is Ethernet itself, in GRE and Geneve. */
#define TYPE_MPLS 0x8847
#define TYPE_MPLS_MULTICAST 0x8848
#define TYPE_BRIDGING 0x6558
#define TYPE_PPPOE_SESSION 0x8864
/* GRE types of ERSPAN I and II, and of ERSPAN III. */
#define TYPE_ERSPAN 0x88be
#define TYPE_ERSPAN_3 0x22eb

/* IP protocol numbers. */
#define PROTOCOL_IPV4 4
#define PROTOCOL_IPV6 41
#define PROTOCOL_GRE 47
#define PROTOCOL_MPLS 137
