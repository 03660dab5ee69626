-- Shows SLMP, the message protocol of FPsPIN, in Wireshark and tshark: UDP port 9330.
--
--     tshark -X lua_script:tools/wireshark/slmp.lua -r capture.pcap
--
-- or copy this file into Wireshark's folder for personal Lua plugins (Help, About, Folders).
--
-- Ten bytes: flags, message id, byte offset; then a part of the message. The receiver answers
-- packets with SYN by the same header with ACK alone. Filters begin with `slmp.`. What a message
-- looks like so far (bytes seen, its length, its mode) and what contradicts it is worked out from
-- the packets of the capture in their order; a message is one sender's address, port and message
-- id.

local HEADER_BYTES = 10
local MOST_PAYLOAD_BYTES = 1462 -- of an Ethernet with 1,500-byte MTU
local PORT = 9330
local EOM, SYN, ACK, RESERVED = 0x8000, 0x4000, 0x2000, 0x1fff

local slmp = Proto("slmp", "SLMP")

local flags = ProtoField.uint16("slmp.flags", "Flags", base.HEX)
local eom = ProtoField.bool("slmp.flags.eom", "End of message", 16, nil, EOM)
local syn = ProtoField.bool("slmp.flags.syn", "Acknowledgement asked for", 16, nil, SYN)
local ack = ProtoField.bool("slmp.flags.ack", "Acknowledgement", 16, nil, ACK)
local msg_id = ProtoField.uint32("slmp.msg_id", "Message id")
local offset = ProtoField.uint32("slmp.offset", "Byte offset")
local payload_length = ProtoField.uint32("slmp.payload_length", "Payload length")
local payload = ProtoField.bytes("slmp.payload", "Payload")
local seen = ProtoField.uint32("slmp.message.seen", "Bytes of the message so far")
local length = ProtoField.uint32("slmp.message.length", "Length of the message")
local missing = ProtoField.uint32("slmp.message.missing", "Bytes of the message missing")
local packets = ProtoField.uint32("slmp.message.packets", "Packets of the message so far")
local mode = ProtoField.string("slmp.message.mode", "Reliability")
local first_frame = ProtoField.framenum("slmp.message.first", "First packet in frame")
local answers = ProtoField.framenum("slmp.answers", "Answers the packet in frame")
local answered_in = ProtoField.framenum("slmp.answered_in", "Answered in frame")
local answer_time = ProtoField.relative_time("slmp.answer_time", "Time since that packet")
local sent_before = ProtoField.framenum("slmp.sent_before", "Sent before in frame")

slmp.fields = {
    flags, eom, syn, ack, msg_id, offset, payload_length, payload, seen, length, missing, packets,
    mode, first_frame, answers, answered_in, answer_time, sent_before,
}

local function malformed(name, text, severity)
    return ProtoExpert.new("slmp." .. name, text, expert.group.MALFORMED, severity)
end
local ERROR, WARN = expert.severity.ERROR, expert.severity.WARN
local remarks = {
    short = malformed("short", "Shorter than its header", ERROR),
    reserved = malformed("reserved", "Flags that mean nothing", WARN),
    long = malformed("long", "More than 1,462 bytes of a message", WARN),
    ack_payload = malformed("ack_payload", "An acknowledgement with a payload", WARN),
    ack_flags = malformed("ack_flags", "An acknowledgement has the ACK flag alone", WARN),
    behind = malformed("behind_the_end", "Bytes behind the end of the message", ERROR),
    other_end = malformed("other_end", "Another end of the message", ERROR),
    wraps = malformed("wraps", "Bytes behind the last possible offset", ERROR),
    overlap = malformed("overlap", "Overlaps a packet with another offset or length", WARN),
    no_first = ProtoExpert.new("slmp.no_first", "No first packet of the message before",
        expert.group.SEQUENCE, WARN),
    reused = ProtoExpert.new("slmp.reused", "The id of another message that is not complete",
        expert.group.SEQUENCE, WARN),
    early_end = ProtoExpert.new("slmp.early_end", "The message ends, but bytes are missing",
        expert.group.SEQUENCE, expert.severity.NOTE),
    again = ProtoExpert.new("slmp.retransmission", "Sent again",
        expert.group.SEQUENCE, expert.severity.NOTE),
    unasked = ProtoExpert.new("slmp.unasked", "Acknowledges no packet that asked for it",
        expert.group.SEQUENCE, WARN),
}
slmp.experts = {}
for _, remark in pairs(remarks) do table.insert(slmp.experts, remark) end

-- Messages by sender and id, the last message of each address and id, and what was found by frame.
local messages, latest, found

function slmp.init()
    messages, latest, found = {}, {}, {}
end

local function has(value, bit_of)
    return bit.band(value, bit_of) ~= 0
end

local function flag_names(value)
    local names = {}
    if has(value, SYN) then names[#names + 1] = "SYN" end
    if has(value, EOM) then names[#names + 1] = "EOM" end
    if has(value, ACK) then names[#names + 1] = "ACK" end
    return #names > 0 and table.concat(names, "+") or "data"
end

local function key(...)
    local parts = { ... }
    for index, part in ipairs(parts) do parts[index] = tostring(part) end
    return table.concat(parts, "/")
end

local function mode_of(message)
    if message.syns == 0 then return "none asked for" end
    if message.syns == message.distinct then return "SYN on all packets" end
    if message.first_syn and message.syns <= 2 then return "SYN on first and last" end
    return "SYN on some packets"
end

-- Says whether the packet's bytes belong to another one, too.
local function overlaps(message, header)
    local last = header.offset + header.bytes
    for at, piece in pairs(message.pieces) do
        if at < last and header.offset < at + piece.bytes then return true end
    end
    return false
end

-- Adds a packet that was not there to its message, unless it cannot belong to it.
local function extend(message, header, pinfo, own)
    own.overlap = overlaps(message, header)
    if own.overlap or header.offset + header.bytes > 0xffffffff then return end
    message.highest = math.max(message.highest, header.offset + header.bytes)
    message.pieces[header.offset] =
        { bytes = header.bytes, frame = pinfo.number, time = pinfo.rel_ts, syn = header.syn }
    message.seen = message.seen + header.bytes
    message.distinct = message.distinct + 1
    if header.syn then message.syns = message.syns + 1 end
    if header.offset == 0 then message.first_syn = header.syn end
end

-- Says whether the packet fits the end of its message, if that is known.
local function fits_end(message, header, own)
    local stop = header.offset + header.bytes
    if not message.length then return true end
    own.other_end = header.eom and message.length ~= stop
    own.behind = not header.eom and stop > message.length
    return not (own.other_end or own.behind)
end

local function take_end(message, header, own)
    local stop = header.offset + header.bytes
    if not header.eom or message.length then return end
    message.length = stop
    own.early_end = message.seen < stop
    own.behind = message.highest > stop
end

-- Looks at a packet of a message on the first pass.
local function relate_data(pinfo, header, own)
    local name = key(pinfo.src, pinfo.src_port, pinfo.dst, header.id)
    local plain = key(pinfo.src, pinfo.dst, header.id)
    local message = messages[name]
    if not message then
        local other = messages[latest[plain] or ""]
        if other and not (other.length and other.seen >= other.length) then own.reused = true end
        message = { pieces = {}, seen = 0, distinct = 0, syns = 0, packets = 0,
            highest = 0, first = pinfo.number }
        messages[name] = message
        latest[plain] = name
        if header.offset ~= 0 then own.no_first = true end
    end
    message.packets = message.packets + 1
    local before = message.pieces[header.offset]
    if before and before.bytes == header.bytes then
        own.sent_before, own.again = before.frame, true
        before.last_frame, before.time = pinfo.number, pinfo.rel_ts
    elseif fits_end(message, header, own) then
        extend(message, header, pinfo, own)
        take_end(message, header, own)
    end
    own.seen, own.length, own.packets = message.seen, message.length, message.packets
    if message.length and message.length > message.seen then
        own.missing = message.length - message.seen
    end
    if message.length then own.mode = mode_of(message) end
    own.first = message.first
end

-- Finds the packet that an acknowledgement answers.
local function relate_ack(pinfo, header, own)
    local message = messages[key(pinfo.dst, pinfo.dst_port, pinfo.src, header.id)]
    local piece = message and message.pieces[header.offset]
    if not piece or not piece.syn then
        own.unasked = true
        return
    end
    local frame = piece.last_frame or piece.frame
    own.answers, own.time, own.first = frame, pinfo.rel_ts - piece.time, message.first
    local other = found[frame] or {}
    other.answered_in = other.answered_in or pinfo.number
    found[frame] = other
end

local function relate(pinfo, header)
    if pinfo.visited then return found[pinfo.number] or {} end
    local own = found[pinfo.number] or {}
    found[pinfo.number] = own
    if has(header.flags, ACK) then
        relate_ack(pinfo, header, own)
    else
        relate_data(pinfo, header, own)
    end
    return own
end

local function show_relations(tree, own)
    for name, remark in pairs(remarks) do
        if own[name] then tree:add_proto_expert_info(remark) end
    end
    local function add(field, value)
        if value then tree:add(field, value):set_generated() end
    end
    add(first_frame, own.first)
    add(packets, own.packets)
    add(seen, own.seen)
    add(length, own.length)
    add(missing, own.missing)
    add(mode, own.mode)
    add(sent_before, own.sent_before)
    add(answers, own.answers)
    add(answered_in, own.answered_in)
    if own.answers then
        local seconds = math.floor(own.time)
        local nanoseconds = math.floor((own.time - seconds) * 1e9 + 0.5)
        tree:add(answer_time, NSTime.new(seconds, nanoseconds)):set_generated()
    end
end

-- What a packet's own fields contradict, whatever came before it.
local function check(header, own)
    own.reserved = has(header.flags, RESERVED)
    own.long = header.bytes > MOST_PAYLOAD_BYTES
    own.wraps = header.offset + header.bytes > 0xffffffff
    if has(header.flags, ACK) then
        own.ack_payload = header.bytes > 0
        own.ack_flags = header.flags ~= ACK and not own.reserved
    end
end

function slmp.dissector(buffer, pinfo, root)
    pinfo.cols.protocol = "SLMP"
    local tree = root:add(slmp, buffer(0, math.min(HEADER_BYTES, buffer:len())))
    if buffer:len() < HEADER_BYTES then
        tree:add_proto_expert_info(remarks.short)
        pinfo.cols.info = "shorter than its header"
        return
    end
    local header = {
        flags = buffer(0, 2):uint(),
        id = buffer(2, 4):uint(),
        offset = buffer(6, 4):uint(),
        bytes = buffer:len() - HEADER_BYTES,
    }
    header.syn, header.eom = has(header.flags, SYN), has(header.flags, EOM)

    local item = tree:add(flags, buffer(0, 2))
    item:append_text(" (" .. flag_names(header.flags) .. ")")
    item:add(eom, buffer(0, 2))
    item:add(syn, buffer(0, 2))
    item:add(ack, buffer(0, 2))
    tree:add(msg_id, buffer(2, 4))
    tree:add(offset, buffer(6, 4))
    tree:add(payload_length, header.bytes):set_generated()
    if header.bytes > 0 then tree:add(payload, buffer(HEADER_BYTES)) end

    local own = relate(pinfo, header)
    check(header, own)
    show_relations(tree, own)

    local info = string.format("%s msg %d offset %d", flag_names(header.flags), header.id,
        header.offset)
    if not has(header.flags, ACK) then info = info .. string.format(", %d B", header.bytes) end
    if own.length and not has(header.flags, ACK) then
        info = info .. string.format(", %d of %d B", own.seen, own.length)
    end
    pinfo.cols.info = info
end

DissectorTable.get("udp.port"):add(PORT, slmp)
