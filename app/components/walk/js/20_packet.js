// The token's data: one binary packet (see payload.py), whose arrays are decoded when first asked.

const openedPackets = new WeakMap();

function openPacket(bytes) {
  if (!openedPackets.has(bytes)) openedPackets.set(bytes, decodePacket(bytes));
  return openedPackets.get(bytes);
}

function decodePacket(bytes) {
  const own = bytes.slice(); // its own buffer, so that offsets are aligned
  const size = new DataView(own.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(own.subarray(4, 4 + size)));
  const start = 4 + size;
  const decoded = new Map();
  const get = (name) => {
    if (!decoded.has(name)) {
      const entry = head.arrays[name];
      decoded.set(name, entry?.[0] === "sum" ? addOf(get(entry[1]), get(entry[2])) : decodeArray(own.buffer, start, entry));
    }
    return decoded.get(name);
  };
  const config = head.config;
  return {
    head, config, get,
    nBytes: bytes.length,
    digest: head.digest,
    has: (name) => name in head.arrays,
    // Half-precision arrays carry three digits, the others are shown with four.
    digits: (name) => (head.arrays[name]?.[0] === "f2" ? 3 : 4),
    shape: (name) => shapeOf(name, get(name).length, config),
    token: head.labels[head.position],
    stations: listStations(head),
  };
}

function decodeArray(buffer, start, entry) {
  if (!entry) return new Float32Array(0);
  const [kind, offset, length, scale] = entry;
  if (kind === "f4") return new Float32Array(buffer, start + offset, length);
  return Float32Array.from(new Uint16Array(buffer, start + offset, length), (h) => scale * halfToNumber(h));
}

function halfToNumber(h) {
  const sign = h & 0x8000 ? -1 : 1;
  const exponent = (h >> 10) & 31;
  const fraction = h & 1023;
  if (exponent === 0) return sign * 2 ** -14 * (fraction / 1024);
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

function shapeOf(name, length, config) {
  return /attn\.(q|k|v|z|scores|pattern)$/.test(name) ? [config.n_head, length / config.n_head] : [length];
}

function listStations(head) {
  const { n_layer: layers, norm } = head.config;
  const list = [{ id: "embed", kind: "embed", block: 1 }];
  for (let block = 1; block <= layers; block++) {
    for (const kind of head.order) list.push({ id: `${block}.${kind}`, kind, block });
  }
  if (norm === "pre") list.push({ id: "ln_final", kind: "ln_final", block: layers });
  list.push({ id: "logits", kind: "logits", block: layers });
  return list;
}

// The place of a station in this model; where it does not exist, the nearest that does.
function placeOf(packet, id) {
  const list = packet.stations;
  const exact = list.findIndex((s) => s.id === id);
  if (exact >= 0 || !id) return Math.max(0, exact);
  const [block, kind] = id.split(".");
  if (id === "ln_final") return list.length - 1;
  const near = Math.min(Math.max(1, parseInt(block, 10) || 1), packet.config.n_layer);
  const same = list.findIndex((s) => s.id === `${near}.${kind}`);
  return same >= 0 ? same : Math.max(0, list.findIndex((s) => s.block === near && s.kind !== "embed"));
}
