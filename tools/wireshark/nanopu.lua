-- Shows the frames between nanoPUs in Wireshark and tshark: NDP's header, and Homa's variant of it.
--
--     tshark -X lua_script:tools/wireshark/nanopu.lua -r capture.pcap
--
-- or copy this file into Wireshark's folder for personal Lua plugins (Help, About, Folders).
--
-- The header follows IPv4 (protocols 153 NDP, 154 Homa; 155 is NDP on the branch that has both) and
-- has 30 bytes, so that all headers fill the 64-byte word of the NIC's datapath. Filters begin with
-- `nanopu.`; acknowledgements and the packets they answer point at each other. Messages are numbered in
-- the order in which they begin in the capture (`nanopu.message`, as tcp.stream does with streams):
-- `nanopu.message == 3` shows a message's packets and what answers them.
--
-- A trimmed packet keeps its headers as they were, the IPv4 length among them, so Wireshark says that
-- the total length exceeds the packet's: `nanopu.trimmed_bytes` is how much a switch cut off.

local HEADER_BYTES = 30
local PACKET_BYTES = 1024 -- of a message in a packet
local TRANSPORTS = { [153] = "NDP", [154] = "Homa", [155] = "NDP" }
local FLAG_BITS = { DATA = 0x01, ACK = 0x02, NACK = 0x04, PULL = 0x08, CHOP = 0x10 }
local FLAG_ORDER = { "DATA", "ACK", "NACK", "PULL", "CHOP" }

local nanopu = Proto("nanopu", "nanoPU transport")

local transport = ProtoField.string("nanopu.transport", "Transport")
local flags = ProtoField.uint8("nanopu.flags", "Flags", base.HEX)
local flag = {}
for _, name in ipairs(FLAG_ORDER) do
    flag[name] = ProtoField.bool("nanopu.flags." .. name:lower(), name, 8, nil, FLAG_BITS[name])
end
local src_context = ProtoField.uint16("nanopu.src_context", "Source context")
local dst_context = ProtoField.uint16("nanopu.dst_context", "Destination context")
local context = ProtoField.uint16("nanopu.context", "Source or destination context")
local msg_len = ProtoField.uint16("nanopu.msg_len", "Message length")
local pkt_offset = ProtoField.uint8("nanopu.pkt_offset", "Packet offset")
local pull_offset = ProtoField.uint16("nanopu.pull_offset", "Pull offset")
local grant_offset = ProtoField.uint16("nanopu.grant_offset", "Grant offset")
local grant_priority = ProtoField.uint8("nanopu.grant_priority", "Grant priority")
local tx_msg_id = ProtoField.uint16("nanopu.tx_msg_id", "Message id of the sender")
local buf_ptr = ProtoField.uint16("nanopu.buf_ptr", "Buffer pointer of the sender")
local buf_size_class = ProtoField.uint8("nanopu.buf_size_class", "Buffer size class")
local padding = ProtoField.bytes("nanopu.padding", "Padding")
local packets = ProtoField.uint16("nanopu.packets", "Packets of the message")
local payload = ProtoField.bytes("nanopu.payload", "Payload")
local word = ProtoField.uint64("nanopu.word", "Word", base.HEX_DEC)
local answers = ProtoField.framenum("nanopu.answers", "Answers the packet in frame")
local answered_in = ProtoField.framenum("nanopu.answered_in", "Answered in frame")
local answer_time = ProtoField.relative_time("nanopu.answer_time", "Time since that packet")
local sent_before = ProtoField.framenum("nanopu.sent_before", "Sent before in frame")
local trimmed_in = ProtoField.framenum("nanopu.trimmed_in", "Trimmed in frame")
local trimmed_bytes = ProtoField.uint16("nanopu.trimmed_bytes", "Bytes of payload cut off")
local message = ProtoField.uint32("nanopu.message", "Message in this capture")
local completes = ProtoField.bool("nanopu.completes", "Completes the message")
local message_time = ProtoField.relative_time(
    "nanopu.message_time", "Time since the message's first packet")

nanopu.fields = {
    transport, flags, flag.DATA, flag.ACK, flag.NACK, flag.PULL, flag.CHOP, src_context, dst_context,
    context, msg_len, pkt_offset, pull_offset, grant_offset, grant_priority, tx_msg_id, buf_ptr,
    buf_size_class, padding, packets, payload, word, answers, answered_in, answer_time, sent_before,
    trimmed_in, trimmed_bytes, message, completes, message_time,
}

local short = ProtoExpert.new(
    "nanopu.short", "Shorter than its header", expert.group.MALFORMED, expert.severity.ERROR)
local no_payload = ProtoExpert.new(
    "nanopu.no_payload", "Nothing behind the header: the NIC drops it", expert.group.MALFORMED,
    expert.severity.WARN)
local empty = ProtoExpert.new(
    "nanopu.empty_message", "A message of no bytes", expert.group.MALFORMED, expert.severity.ERROR)
local behind = ProtoExpert.new(
    "nanopu.behind_the_end", "The packet lies behind its message's end", expert.group.MALFORMED,
    expert.severity.ERROR)
local wrong_length = ProtoExpert.new(
    "nanopu.payload_length", "The payload is not as long as its place in the message says",
    expert.group.MALFORMED, expert.severity.WARN)
local again = ProtoExpert.new(
    "nanopu.retransmission", "Sent again", expert.group.SEQUENCE, expert.severity.NOTE)
local trimmed = ProtoExpert.new(
    "nanopu.trimmed", "A switch cut the payload off", expert.group.SEQUENCE, expert.severity.NOTE)

local refused = ProtoExpert.new(
    "nanopu.nack", "The receiver has only the packet's header", expert.group.SEQUENCE,
    expert.severity.NOTE)

nanopu.experts = { short, no_payload, empty, behind, wrong_length, again, trimmed, refused }
nanopu.prefs.show_words = Pref.bool(
    "Show the payload as words", true, "64-bit words as a program reads them from x30")

-- What was seen of each packet: key -> { first frame, its time }, and by frame: links to others.
-- Messages: key -> the one that uses this id; how many there were.
local sent, links, messages, message_count

function nanopu.init()
    sent, links, messages, message_count = {}, {}, {}, 0
end

local ip_proto, ip_tos = Field.new("ip.proto"), Field.new("ip.dsfield")

local function flag_names(value)
    local names = {}
    for _, name in ipairs(FLAG_ORDER) do
        if bit.band(value, FLAG_BITS[name]) ~= 0 then names[#names + 1] = name end
    end
    return #names > 0 and table.concat(names, "+") or "none"
end

local function has(value, name)
    return bit.band(value, FLAG_BITS[name]) ~= 0
end

-- Finds the message that a packet belongs to, or begins one. A sender uses an id again when the message
-- is acknowledged; the pull offset of its packets, of no other use, may count the uses.
local function message_of(header, key, time)
    local known = messages[key]
    local over = known and (known.generation ~= header.pull_offset or known.missing_acks == 0)
    if not known or over then
        known = {
            index = message_count, generation = header.pull_offset, time = time,
            missing = header.packets, missing_acks = header.packets, whole = {}, acked = {},
        }
        messages[key], message_count = known, message_count + 1
    end
    return known
end

-- Notes what a frame says of its message; puts the message's number, and whether it is complete now,
-- among the frame's links.
local function follow(own, header, from, to, time)
    if has(header.flags, "DATA") then
        local known = message_of(header, from .. "/" .. to .. "/" .. header.tx_msg_id, time)
        own.message = known.index
        if not has(header.flags, "CHOP") and not known.whole[header.pkt_offset] then
            known.whole[header.pkt_offset] = true
            known.missing = known.missing - 1
            if known.missing == 0 then own.message_time = time - known.time end
        end
        return
    end
    local known = messages[to .. "/" .. from .. "/" .. header.tx_msg_id]
    if not known then return end
    own.message = known.index
    if has(header.flags, "ACK") and not known.acked[header.pkt_offset] then
        known.acked[header.pkt_offset] = true
        known.missing_acks = known.missing_acks - 1
    end
end

-- Finds, on the first pass, which frames belong together.
local function relate(pinfo, header)
    if pinfo.visited then return links[pinfo.number] or {} end
    local function key(from, to)
        return table.concat({
            tostring(from), tostring(to), header.tx_msg_id, header.pkt_offset }, "/")
    end
    local own = {}
    if has(header.flags, "DATA") then
        local name = key(pinfo.src, pinfo.dst)
        local before = sent[name]
        -- Ids come round: a packet is one sent again only if nobody answered it.
        if before and not before.answered then
            own.sent_before = before.frame
            if before.trimmed then own.trimmed_in = before.frame end
        end
        local chopped = has(header.flags, "CHOP")
        sent[name] = { frame = pinfo.number, time = pinfo.rel_ts, trimmed = chopped }
    elseif header.flags ~= 0 then
        local packet = sent[key(pinfo.dst, pinfo.src)]
        if packet then
            own.answers, own.time = packet.frame, pinfo.rel_ts - packet.time
            if has(header.flags, "ACK") then packet.answered = true end
            local other = links[packet.frame] or {}
            other.answered_in = other.answered_in or pinfo.number
            links[packet.frame] = other
        end
    end
    follow(own, header, tostring(pinfo.src), tostring(pinfo.dst), pinfo.rel_ts)
    for name, value in pairs(links[pinfo.number] or {}) do own[name] = own[name] or value end
    links[pinfo.number] = own
    return own
end

local function span(seconds)
    local whole = math.floor(seconds)
    return NSTime.new(whole, math.floor((seconds - whole) * 1e9 + 0.5))
end

local function show_links(tree, related)
    if related.message then tree:add(message, related.message):set_generated() end
    if related.message_time then
        tree:add(completes, true):set_generated()
        tree:add(message_time, span(related.message_time)):set_generated()
    end
    if related.trimmed_in then tree:add(trimmed_in, related.trimmed_in):set_generated() end
    if related.sent_before then
        tree:add(sent_before, related.sent_before):set_generated()
        tree:add_proto_expert_info(again)
    end
    if related.answers then
        tree:add(answers, related.answers):set_generated()
        tree:add(answer_time, span(related.time)):set_generated()
    end
    if related.answered_in then
        tree:add(answered_in, related.answered_in):set_generated()
    end
end

-- Shows what a switch cut off: all the payload that the packet's place in the message says it had.
local function show_trimmed(tree, header)
    local left = header.msg_len - header.pkt_offset * PACKET_BYTES
    tree:add(trimmed_bytes, math.max(0, math.min(left, PACKET_BYTES))):set_generated()
    tree:add_proto_expert_info(trimmed)
end

local function show_payload(tree, rest, header)
    if rest:len() == 0 then
        tree:add_proto_expert_info(no_payload)
        return
    end
    local item = tree:add(payload, rest)
    if not has(header.flags, "DATA") then return end
    if header.msg_len == 0 then
        tree:add_proto_expert_info(empty)
    elseif header.pkt_offset >= header.packets then
        tree:add_proto_expert_info(behind)
    elseif not has(header.flags, "CHOP") then
        local left = header.msg_len - header.pkt_offset * PACKET_BYTES
        if math.min(left, PACKET_BYTES) ~= rest:len() then
            tree:add_proto_expert_info(wrong_length)
        end
    end
    if not nanopu.prefs.show_words then return end
    for at = 0, rest:len() - 8, 8 do item:add(word, rest(at, 8)) end
end

local function show_flags(tree, range)
    local item = tree:add(flags, range)
    item:append_text(" (" .. flag_names(range:uint()) .. ")")
    for _, name in ipairs(FLAG_ORDER) do item:add(flag[name], range) end
end

function nanopu.dissector(buffer, pinfo, root)
    local protocol = ip_proto() and ip_proto().value or 153
    local name = TRANSPORTS[protocol] or "NDP"
    pinfo.cols.protocol = "nanoPU " .. name
    local tree = root:add(nanopu, buffer(0, math.min(HEADER_BYTES, buffer:len())))
    tree:append_text(" (" .. name .. ")")
    tree:add(transport, name):set_generated()
    if buffer:len() < HEADER_BYTES then
        tree:add_proto_expert_info(short)
        return
    end
    local homa = name == "Homa" and 1 or 0
    local header = {
        flags = buffer(0, 1):uint(),
        msg_len = buffer(5, 2):uint(),
        pkt_offset = buffer(7, 1):uint(),
        pull_offset = buffer(8, 2):uint(),
        tx_msg_id = buffer(10 + homa, 2):uint(),
    }
    header.packets = math.max(1, math.ceil(header.msg_len / PACKET_BYTES))

    show_flags(tree, buffer(0, 1))
    tree:add(src_context, buffer(1, 2))
    tree:add(context, buffer(1, 2)):set_hidden()
    tree:add(dst_context, buffer(3, 2))
    tree:add(context, buffer(3, 2)):set_hidden()
    tree:add(msg_len, buffer(5, 2)):append_text(" B")
    tree:add(packets, header.packets):set_generated()
    tree:add(pkt_offset, buffer(7, 1))
    tree:add(homa == 1 and grant_offset or pull_offset, buffer(8, 2))
    if homa == 1 then tree:add(grant_priority, buffer(10, 1)) end
    tree:add(tx_msg_id, buffer(10 + homa, 2))
    tree:add(buf_ptr, buffer(12 + homa, 2)):append_text(" (words of 64 B)")
    tree:add(buf_size_class, buffer(14 + homa, 1))
    tree:add(padding, buffer(15 + homa, HEADER_BYTES - 15 - homa))
    if has(header.flags, "CHOP") then show_trimmed(tree, header) end
    if has(header.flags, "NACK") then tree:add_proto_expert_info(refused) end
    show_links(tree, relate(pinfo, header))

    local info = string.format("%s msg %d packet %d/%d, %d B, context %d to %d",
        flag_names(header.flags), header.tx_msg_id, header.pkt_offset + 1, header.packets,
        header.msg_len, buffer(1, 2):uint(), buffer(3, 2):uint())
    if has(header.flags, "PULL") then
        info = info .. (homa == 1 and ", grant " or ", pull ") .. buffer(8, 2):uint()
    end
    if homa == 1 and ip_tos() then
        info = info .. ", priority " .. ip_tos().value
    end
    pinfo.cols.info = info
    show_payload(tree, buffer(HEADER_BYTES):tvb()(), header)
end

for protocol in pairs(TRANSPORTS) do
    DissectorTable.get("ip.proto"):add(protocol, nanopu)
end
