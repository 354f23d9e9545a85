// Words, theme and place for the walk of the same key.
export default function receive({ data }) {
  const bus = (globalThis.andreaWalk ??= { packets: [], settings: {}, wake: new Set() });
  bus.settings[data.key] = data;
  for (const wake of [...bus.wake]) wake();
}
