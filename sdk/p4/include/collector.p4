// Part of a control: where postcards go, by the context that they are about.
    IPv4Addr_t collector_ip;
    EthAddr_t collector_mac;

    action report(IPv4Addr_t ip, EthAddr_t mac) {
        collector_ip = ip;
        collector_mac = mac;
    }

    table collectors {
        key = { about : ternary; }
        actions = { report; NoAction; }
        size = 16;
    }
