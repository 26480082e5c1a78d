// Draws each scene when it comes into sight; before the first one, unpacks the library that draws.
"use strict";
(() => {
  const options = {
    displaylogo: false,
    responsive: true,
    scrollZoom: true,
    modeBarButtons: [["toImage", "orbitRotation", "tableRotation", "resetCameraDefault3d"]],
  };
  let library;
  const unpack = async () => {
    const packed = atob(document.getElementById("plotly").textContent);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  };
  const draw = async (scene) => {
    try {
      library ??= unpack();
      await library;
      const plot = JSON.parse(scene.nextElementSibling.textContent);
      plot.layout.font.color = getComputedStyle(document.body).color; // as light or dark as the page
      await Plotly.newPlot(scene, plot.data, plot.layout, options);
    } catch (problem) {
      scene.textContent = `This browser cannot show it: ${problem.message ?? problem}`;
    }
  };
  const sight = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((one) => one.isIntersecting)) {
        sight.unobserve(entry.target);
        draw(entry.target);
      }
    },
    { rootMargin: "300px" },
  );
  document.querySelectorAll(".scene").forEach((scene) => sight.observe(scene));
})();
