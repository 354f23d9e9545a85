// Keeps the last packets that came, for whoever shows them (a component of its own, so that the
// data is not sent again when only words or places change).
export default function receive({ data }) {
  const bus = (globalThis.andreaWalk ??= { packets: [], settings: {}, wake: new Set() });
  bus.packets = [data, ...bus.packets.filter((packet) => packet !== data)].slice(0, 4);
  for (const wake of [...bus.wake]) wake();
}
