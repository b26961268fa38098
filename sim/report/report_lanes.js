// Requests as lanes on a canvas, from the data beside each: zoom, move, and values under a cursor.
(() => {
  const ROW = 26, HIGH = 15, TOP = 42, GAP = 3, FONT = "11px ui-monospace,Menlo,Consolas,monospace";
  const lanesOf = box => {
    const data = JSON.parse(box.querySelector("script").textContent);
    const canvas = box.querySelector("canvas"), said = box.querySelector("output");
    const pen = canvas.getContext("2d");
    // cycles lie side by side; a gap stands for those left out
    let size = 0;
    const runs = data.runs.map(([begin, end], number) => {
      if (number) size += GAP;
      size += end - begin;
      return { begin, end, at: size - (end - begin) };
    });
    const place = cycle => {
      for (const run of runs) if (cycle <= run.end) return run.at + Math.max(0, cycle - run.begin);
      return size;
    };
    const cycleAt = at => {
      const run = runs.find(each => at >= each.at && at < each.at + each.end - each.begin);
      return run ? run.begin + Math.floor(at - run.at) : null;
    };
    const lanes = data.lanes.map(([name, path, width, changes]) => ({
      name, path, width, parts: changes.map(([begin, value], number) => {
        const run = runs.find(each => begin >= each.begin && begin < each.end) ?? runs[0];
        const next = changes[number + 1]?.[0] ?? Infinity;
        return { begin, end: Math.min(next, run.end), value };
      }) }));
    const unknown = value => value[0] === "?";
    const plain = (lane, value) => unknown(value) ? value.slice(1) || "?"
      : lane.width <= 4 ? String(parseInt(value, 16)) : value;
    const full = value => unknown(value) ? value.slice(1) || "not known yet"
      : value.length < 2 && value < "a" ? value : `0x${value} (${BigInt("0x" + value)})`;

    let from = 0, span = size, cursor = null, lane = 0, left = 0, wide = 1;
    const see = (begin, length) => {
      span = Math.min(size, Math.max(4, length));
      from = Math.min(size - span, Math.max(0, begin));
      draw();
    };
    const zoom = (factor, at = from + span / 2) => see(at - (at - from) * factor, span * factor);
    const request = () => {
      const begin = place(data.first), end = place(data.last + 1);
      see(begin - 4, end - begin + 8);
    };

    const draw = () => {
      const style = getComputedStyle(box), ratio = devicePixelRatio || 1;
      const color = name => style.getPropertyValue(`--${name}`).trim();
      const total = canvas.clientWidth, tall = TOP + lanes.length * ROW + 6;
      if (!total) return;
      canvas.style.height = `${tall}px`;
      canvas.width = Math.round(total * ratio);
      canvas.height = Math.round(tall * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, total, tall);
      pen.font = FONT;
      pen.textBaseline = "middle";
      const widest = Math.max(...lanes.map(each => pen.measureText(each.name).width));
      left = Math.min(widest + 14, total * 0.36);
      wide = (total - left) / span;
      const x = at => left + (at - from) * wide;
      const fitted = (text, room) => {
        if (pen.measureText(text).width <= room) return text;
        const letter = pen.measureText("0").width, fits = Math.floor(room / letter) - 1;
        return fits > 1 ? text.slice(0, fits) + "…" : "";
      };
      const line = (points, stroke, thick = 1) => {
        pen.strokeStyle = stroke;
        pen.lineWidth = thick;
        pen.beginPath();
        points.forEach(([px, py], n) => n ? pen.lineTo(px, py) : pen.moveTo(px, py));
        pen.stroke();
      };

      pen.save();
      pen.beginPath();
      pen.rect(left, 0, total - left, tall);
      pen.clip();
      const begin = x(place(data.first)), end = x(place(data.last + 1));
      pen.fillStyle = color("band");
      pen.fillRect(begin, TOP - 4, end - begin, tall);
      const digits = pen.measureText(String(runs.at(-1).end)).width + 10;
      let step = 1;
      while (step * wide < digits) step *= String(step)[0] === "2" ? 2.5 : 2;
      pen.textAlign = "center";
      for (const run of runs) {
        const low = Math.max(run.begin, run.begin + Math.floor(from - run.at));
        const high = Math.min(run.end, run.begin + Math.ceil(from + span - run.at));
        for (let cycle = Math.ceil(low / step) * step; cycle < high; cycle += step) {
          const at = x(place(cycle));
          line([[at, TOP - 4], [at, tall]], color("line"));
          pen.fillStyle = color("soft");
          pen.fillText(String(cycle), step === 1 ? at + wide / 2 : at, TOP - 11);
        }
      }
      const fits = words => pen.measureText(words.join("")).width + 24 < end - begin;
      const whole = [`request: cycle ${data.first}`, `completion: cycle ${data.last}`];
      const short = [String(data.first), String(data.last)];
      const words = fits(whole) || !fits(short) ? whole : short;
      [[begin, "good"], [end, "bad"]].forEach(([at, mark], number) => {
        line([[at, 4], [at, tall]], color(mark), 1.5);
        const side = fits(words) === !number ? 1 : -1, room = side > 0 ? total - at : at - left;
        pen.fillStyle = color(mark);
        pen.textAlign = side < 0 ? "right" : "left";
        pen.fillText(pen.measureText(words[number]).width + 8 > room ? short[number] : words[number],
          at + 5 * side, 12);
      });
      lanes.forEach((each, number) => {
        const top = TOP + number * ROW + (ROW - HIGH) / 2, low = top + HIGH, mid = top + HIGH / 2;
        let busy = null, height = null;
        const close = () => {
          if (busy) {
            pen.fillStyle = color("calm");
            pen.globalAlpha = 0.45;
            pen.fillRect(busy[0], top, Math.max(1, busy[1] - busy[0]), HIGH);
            pen.globalAlpha = 1;
          }
          busy = null;
        };
        for (const part of each.parts) {
          const x0 = x(place(part.begin)), x1 = x(place(part.begin) + part.end - part.begin);
          if (x1 < left || x0 > total) { height = null; continue; }
          if (x1 - x0 < 2) {  // too narrow to tell: a stretch in which it changes
            busy = busy && x0 - busy[1] < 1 ? [busy[0], x1] : (close(), [x0, x1]);
            height = null;
            continue;
          }
          close();
          if (each.width === 1 && !unknown(part.value)) {
            const y = part.value === "1" ? top : low;
            if (part.value === "1") {
              pen.fillStyle = color("fill");
              pen.fillRect(x0, top, x1 - x0, HIGH);
            }
            line([[x0, height ?? y], [x0, y], [x1, y]], color("calm"), 1.4);
            height = y;
            continue;
          }
          height = null;
          const odd = unknown(part.value), slope = Math.min(3, (x1 - x0) / 3);
          pen.fillStyle = color("fill");
          pen.strokeStyle = color(odd ? "bad" : "calm");
          pen.lineWidth = 1;
          pen.beginPath();
          pen.moveTo(x0, mid);
          pen.lineTo(x0 + slope, top);
          pen.lineTo(x1 - slope, top);
          pen.lineTo(x1, mid);
          pen.lineTo(x1 - slope, low);
          pen.lineTo(x0 + slope, low);
          pen.closePath();
          if (!odd && /[^0]/.test(part.value)) pen.fill();
          pen.stroke();
          const a = Math.max(x0, left), b = Math.min(x1, total);
          const text = fitted(plain(each, part.value), b - a - 6);
          pen.textAlign = "center";
          pen.fillStyle = color(odd ? "bad" : "ink");
          if (text) pen.fillText(text, (a + b) / 2, mid + 0.5);
        }
        close();
      });
      if (runs.length > 1) {
        const x0 = x(runs[1].at - GAP);
        pen.fillStyle = color("tint");
        pen.fillRect(x0, TOP - 4, GAP * wide, tall);
        pen.fillStyle = color("soft");
        pen.textAlign = "center";
        pen.fillText("⋯", x0 + GAP * wide / 2, TOP + 4);
      }
      if (cursor !== null) {
        const at = x(place(cursor));
        pen.fillStyle = color("ink");
        pen.globalAlpha = 0.12;
        pen.fillRect(at, TOP - 4, Math.max(1, wide), tall);
        pen.globalAlpha = 1;
      }
      pen.restore();
      lanes.forEach((each, number) => {
        pen.fillStyle = color(cursor !== null && number === lane ? "link" : "ink");
        pen.textAlign = "right";
        pen.fillText(fitted(each.name, left - 10), left - 8, TOP + number * ROW + ROW / 2 + 0.5);
      });
      canvas.dataset.from = cycleAt(from) ?? runs[1]?.begin;
      canvas.dataset.to = (cycleAt(from + span - 1e-6) ?? runs[0].end - 1) + 1;
    };

    const say = () => {
      if (cursor === null) { said.textContent = ""; return; }
      const each = lanes[lane], part = each.parts.find(p => cursor >= p.begin && cursor < p.end);
      const within = cursor >= data.first && cursor <= data.last
        ? `, ${cursor - data.first + 1} of the request` : "";
      const held = part && part.end - part.begin > 1
        ? `, in cycles ${part.begin} to ${part.end - 1}` : "";
      said.textContent = `cycle ${cursor}${within}: ${each.path} = `
        + (part ? full(part.value) : "?") + held;
    };
    const look = (at, row) => {
      cursor = cycleAt(at);
      lane = Math.min(lanes.length - 1, Math.max(0, row));
      draw();
      say();
    };
    const spot = event => {
      const edge = canvas.getBoundingClientRect();
      return [from + (event.clientX - edge.left - left) / wide,
        Math.floor((event.clientY - edge.top - TOP) / ROW)];
    };

    const held = new Map();
    canvas.addEventListener("pointerdown", event => {
      held.set(event.pointerId, event.clientX);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", event => {
      const before = held.get(event.pointerId);
      if (before === undefined || held.size > 2) { look(...spot(event)); return; }
      const others = [...held].filter(([id]) => id !== event.pointerId);
      if (others.length) {  // two fingers
        const other = others[0][1], old = Math.abs(before - other);
        const now = Math.abs(event.clientX - other), edge = canvas.getBoundingClientRect();
        if (old > 10 && now > 10) zoom(old / now, from + (other - edge.left - left) / wide);
      } else see(from - (event.clientX - before) / wide, span);
      held.set(event.pointerId, event.clientX);
    });
    for (const name of ["pointerup", "pointercancel"])
      canvas.addEventListener(name, event => {
        held.delete(event.pointerId);
        look(...spot(event));
      });
    canvas.addEventListener("pointerleave", () => {
      if (!held.size) { cursor = null; draw(); say(); }
    });
    canvas.addEventListener("wheel", event => {
      if (event.ctrlKey || event.metaKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, spot(event)[0]);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) see(from + event.deltaX / wide, span);
      else return;
      event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("dblclick", event => zoom(0.5, spot(event)[0]));
    const move = by => {
      const at = place(cursor ?? data.first) + (cursor === null ? 0 : by);
      let next = Math.min(size - 1, Math.max(0, at));
      if (cycleAt(next) === null) next += by > 0 ? GAP : -GAP;  // over the gap
      if (next < from || next >= from + span) see(next - span / 2, span);
      look(next, lane);
    };
    const keys = {
      "+": () => zoom(0.5, cursor === null ? undefined : place(cursor)), "=": () => keys["+"](),
      "-": () => zoom(2), "0": () => see(0, size), r: request,
      ArrowRight: () => move(1), ArrowLeft: () => move(-1),
      ArrowDown: () => look(place(cursor ?? data.first), lane + 1),
      ArrowUp: () => look(place(cursor ?? data.first), lane - 1),
      Home: () => { cursor = data.first; move(0); }, End: () => { cursor = data.last; move(0); },
    };
    canvas.addEventListener("keydown", event => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      keys[event.key]();
      event.preventDefault();
    });
    const buttons = { in: keys["+"], out: keys["-"], request, all: keys["0"] };
    for (const button of box.querySelectorAll("button"))
      button.addEventListener("click", () => buttons[button.dataset.do]());
    new ResizeObserver(draw).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    request();
  };

  const waiting = new Set(document.querySelectorAll(".lanes"));
  const start = box => { if (waiting.delete(box)) lanesOf(box); };
  const watch = new IntersectionObserver(seen => {
    for (const each of seen) if (each.isIntersecting) { watch.unobserve(each.target); start(each.target); }
  }, { rootMargin: "600px" });
  for (const box of waiting) {
    box.querySelector(".tools").hidden = false;
    watch.observe(box);
  }
  addEventListener("beforeprint", () => [...waiting].forEach(start));
})();
