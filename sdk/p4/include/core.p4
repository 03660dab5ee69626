// What every P4 program begins with: the packet that a parser takes headers from, and the one that a
// deparser puts headers into.
#ifndef CORE_P4
#define CORE_P4

// The packet on its way in.
extern packet_in {
    // Takes the next bytes of the packet for a header, which is valid from then on. A packet that is
    // too short is dropped.
    void extract<T>(out T header_to_fill);
}

// The packet on its way out.
extern packet_out {
    // Puts a header behind those before it, if it is valid; of a struct, each of its headers.
    void emit<T>(in T headers_to_send);
}

#endif
