// The vector's way from station to station: a few of its cells run along the wire.

const QUICK = 420; // milliseconds

const stillMotion = () => globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? false;

function routeLength(points) {
  return points.slice(1).reduce((sum, p, i) => sum + Math.hypot(p[0] - points[i][0], p[1] - points[i][1]), 0);
}

function pointAt(points, share) {
  let left = share * routeLength(points);
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1], points[i]];
    const step = Math.hypot(b[0] - a[0], b[1] - a[1]);
    if (left <= step && step > 0) return [a[0] + ((b[0] - a[0]) * left) / step, a[1] + ((b[1] - a[1]) * left) / step];
    left -= step;
  }
  return points[points.length - 1];
}

class Motion {
  constructor(walk) {
    this.walk = walk;
    this.frame = 0;
  }

  // Put the station's vector at its anchor; on a step forward or back let it travel there.
  bring(group, place, values, way, previous) {
    cancelAnimationFrame(this.frame);
    const scale = maxAbs([values]);
    group.replaceChildren(...vectorCells(values, scale, this.walk.theme, place.w ?? 110));
    const put = ([x, y]) => group.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
    const route = way === "forward" ? place.route && [...place.route, place.anchor] : way === "back" && previous ? [previous.anchor, ...[...previous.route].reverse(), place.anchor] : null;
    if (!route || stillMotion() || document.hidden) return put(place.anchor);
    const started = performance.now();
    const run = (now) => {
      const share = Math.min(1, (now - started) / QUICK);
      const eased = share < 0.5 ? 2 * share * share : 1 - (2 - 2 * share) ** 2 / 2;
      put(pointAt(route, eased));
      if (share < 1) this.frame = requestAnimationFrame(run);
    };
    put(route[0]);
    this.frame = requestAnimationFrame(run);
  }
}
