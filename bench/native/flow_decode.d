flow_decode: flow_decode.cpp ../../addon/core/flow/flow_exporter.h \
 ../../addon/core/flow/big_endian.h \
 ../../addon/core/flow/flow_exporter_status.h \
 ../../addon/core/flow/undecoded.h ../../addon/core/flow/record_sink.h \
 ../../addon/core/count/flow_record.h \
 ../../addon/core/parse/packet_parser.h ../../addon/core/base/address.h \
 ../../addon/core/parse/encapsulation.h \
 ../../addon/abi/encapsulation_abi.h ../../addon/core/parse/frame.h \
 ../../addon/core/parse/traffic_class.h
../../addon/core/flow/flow_exporter.h:
../../addon/core/flow/big_endian.h:
../../addon/core/flow/flow_exporter_status.h:
../../addon/core/flow/undecoded.h:
../../addon/core/flow/record_sink.h:
../../addon/core/count/flow_record.h:
../../addon/core/parse/packet_parser.h:
../../addon/core/base/address.h:
../../addon/core/parse/encapsulation.h:
../../addon/abi/encapsulation_abi.h:
../../addon/core/parse/frame.h:
../../addon/core/parse/traffic_class.h:
