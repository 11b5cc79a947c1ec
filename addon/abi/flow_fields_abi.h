/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fields of flow records, a line each: which elements of NetFlow v9 and IPFIX fill it, and how far it goes.
 * Decoders, records, samples, the records that TypeScript reads and the constants by which it reads them are made from
 * these lines. An includer defines the macros of the lines that it takes; they are undefined at the end.
 *
 *   NUMBER(name, elements...)                 a number of at most 8 bytes that rules of the decoders read: a Slot
 *   IN_RECORD(name, bits, back, elements...)  a FlowRecord has it too, as it is, in this number of bits. `back` is the
 *                                             field whose value it has for the flow's way back (RFC 5103): itself,
 *                                             another, or `unknown`
 *   IN_SAMPLE(name, bits, back, elements...)  samples of the traffic have it too, and TypeScript reads it by its name;
 *                                             at most 32 bits
 *   PART(name, bytes, elements...)            bytes that are no number; 0 bytes: of any length
 *   TIME(slot, form, element)                 a form of the slots `start` and `end`
 *
 * Elements have the numbers and meanings of IANA's registry (RFC 7012; NetFlow v9 has the same, RFC 3954, 8), and the
 * names in the comments; reverse(), vmware() and cisco() are those of enterprises, see flow_elements.h. All others are
 * stepped over. Of several elements of a line, the first in a record holds. 0: not known.
 */
#ifndef NUMBER
#define NUMBER(...)
#endif
#ifndef IN_RECORD
#define IN_RECORD(name, bits, back, ...) NUMBER(name, __VA_ARGS__)
#endif
#ifndef IN_SAMPLE
#define IN_SAMPLE IN_RECORD
#endif
#ifndef PART
#define PART(...)
#endif
#ifndef TIME
#define TIME(...)
#endif

// clang-format off
// What is carried as it is; small ones first, so that records and samples have no gaps.
IN_RECORD(service, 8, service, 5)               // ipClassOfService: type of service, or traffic class of IPv6
IN_SAMPLE(exporter, 16, exporter)               // number in the table of exporters, from 1 on, which the collector sets
IN_SAMPLE(input, 32, output, 10)                // ingressInterface (ifIndex, RFC 2863)
IN_RECORD(output, 32, input, 14)                // egressInterface
IN_SAMPLE(sourceAs, 32, destinationAs, 16)      // bgpSourceAsNumber: AS of the source in the exporter's routing table
IN_RECORD(destinationAs, 32, sourceAs, 17)      // bgpDestinationAsNumber

// Counted amounts.
NUMBER(packets, 2)                              // packetDeltaCount: since the flow's last record
NUMBER(bytes, 1)                                // octetDeltaCount: of layer 3
NUMBER(totalPackets, 86)                        // packetTotalCount: since the flow began
NUMBER(totalBytes, 85)                          // octetTotalCount
NUMBER(outPackets, 24)                          // postPacketDeltaCount
NUMBER(outBytes, 23)                            // postOctetDeltaCount
NUMBER(layer2Bytes, 352)                        // layer2OctetDeltaCount
NUMBER(totalLayer2Bytes, 353)                   // layer2OctetTotalCount
NUMBER(initiatorPackets, 298)                   // initiatorPackets
NUMBER(initiatorBytes, 231)                     // initiatorOctets
NUMBER(responderPackets, 299)                   // responderPackets
NUMBER(responderBytes, 232)                     // responderOctets
NUMBER(clientBytes, cisco(8338))                // of layer 3, from the client of the connection, which is the initiator
NUMBER(serverBytes, cisco(8337))
NUMBER(reversePackets, reverse(2))
NUMBER(reverseBytes, reverse(1))
NUMBER(reverseTotalPackets, reverse(86))
NUMBER(reverseTotalBytes, reverse(85))
NUMBER(reverseTcpFlags, reverse(6))

// Fields of the packets. If a template has an element twice, the second is of the packet within a tunnel.
NUMBER(protocol, 4)                             // protocolIdentifier
NUMBER(sourcePort, 7)                           // sourceTransportPort
NUMBER(destinationPort, 11)                     // destinationTransportPort
NUMBER(udpSourcePort, 180)                      // udpSourcePort
NUMBER(udpDestinationPort, 181)                 // udpDestinationPort
NUMBER(tcpSourcePort, 182)                      // tcpSourcePort
NUMBER(tcpDestinationPort, 183)                 // tcpDestinationPort
NUMBER(innerProtocol, vmware(880))
NUMBER(innerSourcePort, vmware(886))
NUMBER(innerDestinationPort, vmware(887))
NUMBER(clientPort, cisco(12240))                // beside clientBytes or initiatorPackets they replace those of the packet
NUMBER(serverPort, cisco(12241))
NUMBER(tcpFlags, 6)                             // tcpControlBits
NUMBER(ipVersion, 60)                           // ipVersion
NUMBER(ipLength, 190, 224)                      // totalLengthIPv4, ipTotalLength
NUMBER(fragmentOffset, 88)                      // fragmentOffset
NUMBER(fragmentFlags, 197)                      // fragmentFlags
NUMBER(frameSize, 312)                          // dataLinkFrameSize
PART(source4, 4, 8)                             // sourceIPv4Address
PART(destination4, 4, 12)                       // destinationIPv4Address
PART(source6, 16, 27)                           // sourceIPv6Address
PART(destination6, 16, 28)                      // destinationIPv6Address
PART(innerSource4, 4, vmware(881))
PART(innerDestination4, 4, vmware(882))
PART(innerSource6, 16, vmware(883))
PART(innerDestination6, 16, vmware(884))
PART(destinationPrefix, 0, 45, 169)             // destinationIPv4Prefix, destinationIPv6Prefix: records of aggregates
PART(client4, 4, cisco(12236))
PART(server4, 4, cisco(12237))
PART(frame, 0, 104, 315)                        // layer2packetSectionData, dataLinkFrameSection
PART(ipPacket, 0, 313)                          // ipHeaderPacketSection

// Fields of the flow.
NUMBER(flowId, 148)                             // flowId
NUMBER(endReason, 136)                          // flowEndReason
NUMBER(event, 233, 40005)                       // firewallEvent, and Cisco's number before 233 was assigned
NUMBER(biflowDirection, 239)                    // biflowDirection: 2, the destination is the initiator (RFC 5103, 6.3)
NUMBER(direction, 61)                           // flowDirection
NUMBER(physicalInput, 252)                      // ingressPhysicalInterface
NUMBER(physicalOutput, 253)                     // egressPhysicalInterface

// When it was.
NUMBER(start)
NUMBER(end)
TIME(start, uptimeMs, 22)                       // flowStartSysUpTime
TIME(end, uptimeMs, 21)                         // flowEndSysUpTime
TIME(start, seconds, 150)                       // flowStartSeconds
TIME(end, seconds, 151)                         // flowEndSeconds
TIME(start, ms, 152)                            // flowStartMilliseconds
TIME(end, ms, 153)                              // flowEndMilliseconds
TIME(start, us, 154)                            // flowStartMicroseconds
TIME(end, us, 155)                              // flowEndMicroseconds
TIME(start, ns, 156)                            // flowStartNanoseconds
TIME(end, ns, 157)                              // flowEndNanoseconds
TIME(start, deltaUs, 158)                       // flowStartDeltaMicroseconds
TIME(end, deltaUs, 159)                         // flowEndDeltaMicroseconds
TIME(end, eventMs, 323)                         // observationTimeMilliseconds
NUMBER(durationMs, 161)                         // flowDurationMilliseconds
NUMBER(durationUs, 162)                         // flowDurationMicroseconds
NUMBER(systemInitMs, 160)                       // systemInitTimeMilliseconds

// How it was sampled (RFC 5477 from 302 on).
NUMBER(sampler, 48)                             // samplerId
NUMBER(selector, 302)                           // selectorId
NUMBER(lineCard, 141, 39)                       // lineCardId, engineId
NUMBER(meteringProcess, 143)                    // meteringProcessId
NUMBER(samplingInterval, 34)                    // samplingInterval
NUMBER(samplingAlgorithm, 35, 49)               // samplingAlgorithm, samplerMode
NUMBER(randomInterval, 50)                      // samplerRandomInterval
NUMBER(packetInterval, 305)                     // samplingPacketInterval
NUMBER(packetSpace, 306)                        // samplingPacketSpace
NUMBER(timeInterval, 307)                       // samplingTimeInterval
NUMBER(timeSpace, 308)                          // samplingTimeSpace
NUMBER(samplingSize, 309)                       // samplingSize
NUMBER(samplingPopulation, 310)                 // samplingPopulation
NUMBER(samplingProbability, 311)                // samplingProbability

// Fields of records of options.
NUMBER(scopeInterface)                          // an interface that is a scope
NUMBER(scopeTemplate, 145)                      // templateId
NUMBER(scopeDomain, 149)                        // observationDomainId
PART(name, 0, 82)                               // interfaceName
PART(description, 0, 83)                        // interfaceDescription
// clang-format on

#undef NUMBER
#undef IN_RECORD
#undef IN_SAMPLE
#undef PART
#undef TIME
