// Part of an apply block: sends a postcard of kind `kind` about the context `about`, if somebody collects those.
            collector_ip = 0;
            collector_mac = 0;
            if (collectors.apply().hit) {
                hdr.card_eth.setValid();
                hdr.card_eth.dst = collector_mac;
                hdr.card_eth.src = meta.params.nic_mac_addr;
                hdr.card_eth.type = IPV4_TYPE;

                hdr.card_ip.setValid();
                hdr.card_ip.version = 4;
                hdr.card_ip.ihl = 5;
                hdr.card_ip.tos = 0;
                hdr.card_ip.total_len = POSTCARD_IP_BYTES;
                hdr.card_ip.identification = 0;
                hdr.card_ip.fragment_flags = 2;
                hdr.card_ip.fragment_offset = 0;
                hdr.card_ip.ttl = 64;
                hdr.card_ip.protocol = UDP_PROTO;
                hdr.card_ip.src = meta.params.nic_ip_addr;
                hdr.card_ip.dst = collector_ip;
                bit<32> sum = 0x4500 + 0x4000 + ((64 << 8) + UDP_PROTO) + POSTCARD_IP_BYTES
                    + (bit<32>) hdr.card_ip.src[31:16] + (bit<32>) hdr.card_ip.src[15:0]
                    + (bit<32>) hdr.card_ip.dst[31:16] + (bit<32>) hdr.card_ip.dst[15:0];
                sum = (sum & 0xffff) + (sum >> 16);
                sum = (sum & 0xffff) + (sum >> 16);
                hdr.card_ip.checksum = ~sum[15:0];

                hdr.card_udp.setValid();
                hdr.card_udp.src_port = COLLECTOR_PORT;
                hdr.card_udp.dst_port = COLLECTOR_PORT;
                hdr.card_udp.length = POSTCARD_UDP_BYTES;
                hdr.card_udp.checksum = 0;

                hdr.card.setValid();
                hdr.card.kind = kind;
                hdr.card.reason = reason;
                hdr.card.context = about;
                hdr.card.src_ip = sender;
                hdr.card.at = smeta.timestamp;
                hdr.card.value = value;
                smeta.send = SEND_HEADERS;
            }
