"""Handlers and host programs that the tests of the NIC share."""

import socket
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNEL, NIC = "10.11.0.1", "10.11.0.2"

# Answers UDP datagrams on the NIC; counts them, prints the first bytes.
ECHO = r"""
#include <handler.h>
#include <packets.h>
#include <stdio.h>

__handler__ void echo_ph(handler_args_t *args)
{
    pkt_hdr_t *hdrs = (pkt_hdr_t *)args->task->pkt_mem;
    uint8_t *payload = (uint8_t *)(hdrs + 1);
    spin_cmd_t command;
    mac_addr_t mac = hdrs->eth_hdr.src;
    uint32_t address = hdrs->ip_hdr.source_id;
    uint16_t port = hdrs->udp_hdr.src_port;

    hdrs->eth_hdr.src = hdrs->eth_hdr.dest;
    hdrs->eth_hdr.dest = mac;
    hdrs->ip_hdr.source_id = hdrs->ip_hdr.dest_id;
    hdrs->ip_hdr.dest_id = address;
    hdrs->udp_hdr.src_port = hdrs->udp_hdr.dst_port;
    hdrs->udp_hdr.dst_port = port;
    hdrs->udp_hdr.checksum = 0;
    push_counter(&__host_data.counters[0], args->task->pkt_mem_size);
    printf("TAG %c%c on %u\n", payload[0], payload[1], (unsigned)args->hpu_gid);
    payload[0] = 'TAGLETTER';
    spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, &command);
    spin_cmd_wait(command);
}
"""

# Asks the host program first.
ASK = ECHO.replace("#include <stdio.h>", "#include <spin_host.h>\n#include <stdio.h>").replace(
    "    push_counter",
    "    spin_dma_to_host(HOST_PLD_ADDR(args), (uint32_t)args->task->pkt_mem,\n"
    "                     args->task->pkt_mem_size, 1, &command);\n"
    "    spin_cmd_wait(command);\n"
    "    if (fpspin_host_req(args, args->task->pkt_mem_size).len == 0)\n"
    "        return;\n"
    "    push_counter",
)

# Writes to the application's page, or beyond the window when told to.
ROGUE = r"""
#include <handler.h>
#include <packets.h>
#include <spin_host.h>

__handler__ void rogue_ph(handler_args_t *args)
{
    uint8_t *payload = (uint8_t *)args->task->pkt_mem + sizeof(pkt_hdr_t);
    uint64_t address = HOST_ADDR(args) + CORE_COUNT * PAGE_SIZE;
    spin_cmd_t command;

    if (payload[0] == 'x')
        address = HOST_ADDR(args) + args->task->host_mem_size;
    spin_write_to_host(address, 0x600d, &command);
    spin_cmd_wait(command);
}
"""


def echo(letter="e", source=ECHO):
    return source.replace("TAGLETTER", letter).replace("TAG", f"echo {letter}:")


def attend(bench):
    return bench.host_program(HERE / "host/attend.c")


def join(bench, program, elf, context=0, what="9000", *more, device="/dev/pspin0"):
    """Starts a host program and waits until it is attached."""
    process = bench.start([program, device, elf, context, what, *more])
    process.wait_for("attached")
    return process


def ask(port, text=b"hi there", tries=20, timeout=0.5):
    """Sends a datagram to the NIC until an answer comes; gives that, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.settimeout(timeout)
        for _ in range(tries):
            door.sendto(text, (NIC, port))
            try:
                return door.recv(2048)
            except TimeoutError:
                pass
    return None


def counter(program, number=0):
    words = program.say(f"counter {number}", "counter ").split()
    return int(words[1]), int(words[2])


def connect(bench):
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.connect(str(bench.folder / "nic/pspin0.sock"))
    door.settimeout(10)
    return door
