"use strict";

// Shows a picture of any size in `parent`, from tiles of all resolutions, of which only those in sight are loaded.
//
// `about`: name, width and height [pixels], tile (side) [pixels], levels, step, time, and tiles: what stands before
// LEVEL/COLUMN_ROW.png. `options.fixed`: {x, y, scale}, the place in the picture that the upper left corner shows and
// how many pixels of the screen each pixel of the picture takes; without it one pans and zooms: mouse, touch, keys.
function showPicture(parent, about, options = {}) {
  const style = document.createElement("style");
  style.textContent =
    "html, body { margin: 0; height: 100%; overflow: hidden; background: #111; font: 14px/1.4 system-ui, sans-serif }" +
    ".picture { display: block; width: 100%; height: 100%; touch-action: none; cursor: grab; outline: none }" +
    ".about { position: absolute; left: 0; bottom: 0; padding: .3em .7em; color: #eee; background: #000a }";
  document.head.append(style);
  const canvas = document.createElement("canvas");
  canvas.className = "picture";
  canvas.tabIndex = 0;
  const words = document.createElement("div");
  words.className = "about";
  parent.append(canvas);
  if (!options.fixed) parent.append(words);

  const most_tiles = 800;
  const tiles = new Map(); // by address, those used last at the end
  let view = { x: 0, y: 0, scale: 1 }; // the place at the upper left corner; screen pixels a pixel
  let is_fitted = true, is_due = false;

  const across = () => canvas.clientWidth, down = () => canvas.clientHeight;

  function fit() {
    const scale = Math.min(across() / about.width, down() / about.height);
    view = { scale, x: (about.width - across() / scale) / 2, y: (about.height - down() / scale) / 2 };
    is_fitted = true;
    redraw();
  }

  // The tiles of a level that are in sight, with their places in the picture.
  function inSight(of, level, view) {
    const size = of.tile * 2 ** (of.levels - 1 - level);
    const columns = Math.ceil(of.width / size), rows = Math.ceil(of.height / size);
    const clamp = (value, end) => Math.max(0, Math.min(end, value));
    const left = clamp(Math.floor(view.x / size), columns), top = clamp(Math.floor(view.y / size), rows);
    const right = clamp(Math.ceil((view.x + across() / view.scale) / size), columns);
    const bottom = clamp(Math.ceil((view.y + down() / view.scale) / size), rows);
    const found = [];
    for (let row = top; row < bottom; ++row)
      for (let column = left; column < right; ++column)
        found.push({ address: `${of.tiles}${level}/${column}_${row}.png`, x: column * size, y: row * size, size });
    return found;
  }

  // The level that has at least a pixel for each pixel of the screen.
  function levelFor(of, view) {
    const finer = Math.ceil(Math.log2(view.scale * (window.devicePixelRatio || 1)) - 1e-6);
    return Math.max(0, Math.min(of.levels - 1, of.levels - 1 + finer));
  }

  function tileAt(address) {
    let image = tiles.get(address);
    if (image) tiles.delete(address);
    else {
      image = new Image();
      image.whenDone = new Promise((done) => (image.onload = image.onerror = done)).then(redraw);
      image.src = address;
    }
    tiles.set(address, image);
    while (tiles.size > most_tiles) tiles.delete(tiles.keys().next().value);
    return image;
  }

  const isThere = (image) => image && image.complete && image.naturalWidth > 0;

  function draw() {
    is_due = false;
    const dense = window.devicePixelRatio || 1;
    canvas.width = Math.round(across() * dense);
    canvas.height = Math.round(down() * dense);
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = view.scale * dense < 1;
    const finest = levelFor(about, view);
    const place = (pixel, begin) => Math.round((pixel - begin) * view.scale * dense);
    for (let level = 0; level <= finest; ++level)
      for (const tile of inSight(about, level, view)) {
        const image = level === finest ? tileAt(tile.address) : tiles.get(tile.address);
        if (!isThere(image)) continue;
        const pixel = 2 ** (about.levels - 1 - level);
        const left = place(tile.x, view.x), top = place(tile.y, view.y);
        const right = place(Math.min(about.width, tile.x + image.naturalWidth * pixel), view.x);
        const bottom = place(Math.min(about.height, tile.y + image.naturalHeight * pixel), view.y);
        context.drawImage(image, left, top, right - left, bottom - top);
      }
    const percent = Number((view.scale * 100).toPrecision(3));
    words.textContent = `${about.name}, step ${about.step}, t = ${Number(about.time.toPrecision(6))}, ` +
      `${about.width} x ${about.height} pixels, shown at ${percent} %`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", words.textContent);
  }

  function redraw() {
    if (is_due) return;
    is_due = true;
    requestAnimationFrame(draw);
  }

  // All tiles in sight of another picture, seen from `place`: resolves to whether they are there.
  async function load(other, place = view) {
    const images = inSight(other, levelFor(other, place), place).map((tile) => tileAt(tile.address));
    await Promise.all(images.map((image) => image.whenDone));
    return images.every(isThere);
  }

  // Another picture instead of this one, seen from `place`. Without one the same part is shown if it is as large.
  function swap(other, place = null) {
    const is_other = other.width !== about.width || other.height !== about.height;
    about = other;
    if (place) view = place;
    if (is_other && !place) fit();
    else redraw();
  }

  function zoom(factor, x = across() / 2, y = down() / 2) {
    const least = 0.5 * Math.min(across() / about.width, down() / about.height);
    const scale = Math.max(Math.min(least, 1), Math.min(64, view.scale * factor));
    view = { scale, x: view.x + x / view.scale - x / scale, y: view.y + y / view.scale - y / scale };
    is_fitted = false;
    redraw();
  }

  function pan(x, y) {
    view = { scale: view.scale, x: view.x + x / view.scale, y: view.y + y / view.scale };
    is_fitted = false;
    redraw();
  }

  const keys = {
    ArrowLeft: () => pan(-across() / 8, 0), ArrowRight: () => pan(across() / 8, 0),
    ArrowUp: () => pan(0, -down() / 8), ArrowDown: () => pan(0, down() / 8),
    "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5),
    "0": fit, Home: fit, "1": () => zoom(1 / view.scale),
    f: () => (document.fullscreenElement ? document.exitFullscreen() : parent.requestFullscreen()),
  };

  function listen() {
    const fingers = new Map();
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, width: Math.hypot(a.x - b.x, a.y - b.y) };
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId), now = { x: event.offsetX, y: event.offsetY };
      if (!before) return;
      if (fingers.size === 2) {
        const old = spread();
        fingers.set(event.pointerId, now);
        const next = spread();
        if (old.width > 0) zoom(next.width / old.width, next.x, next.y);
        return;
      }
      fingers.set(event.pointerId, now);
      pan(before.x - now.x, before.y - now.y);
    });
    for (const end of ["pointerup", "pointercancel"])
      canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(2 ** (-event.deltaY / (event.deltaMode === 1 ? 10 : 300)), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => zoom(2, event.offsetX, event.offsetY));
    window.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    canvas.focus();
  }

  if (options.fixed) view = options.fixed;
  else {
    listen();
    fit();
  }
  window.addEventListener("resize", () => (is_fitted && !options.fixed ? fit() : redraw()));
  redraw();
  return { load, swap, fit };
}
