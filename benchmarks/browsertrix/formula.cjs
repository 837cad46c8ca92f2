// The numbers that Browsertrix Crawler writes into `comparison`, by its own libraries and its own
// lines (src/replaycrawler.ts: compareScreenshots, compareText, compareResources, countResources).
// Reads a JSON object a line: {views: [path, path], texts: [path, path], urls: [path, path]}, each
// of the crawl and of its playback, each may be null; writes a JSON object a line.
"use strict";
const fs = require("fs");
const readline = require("readline");
const { PNG } = require("pngjs");
const pixelmatch = require("pixelmatch");
const levenshtein = require("js-levenshtein");

function screenshots([crawlPath, replayPath]) {
  const crawl = PNG.sync.read(fs.readFileSync(crawlPath));
  const replay = PNG.sync.read(fs.readFileSync(replayPath));
  const { width, height } = replay;
  const diffImage = new PNG({ width, height });
  const options = { threshold: 0.1, alpha: 0 };
  const diff = pixelmatch(crawl.data, replay.data, diffImage.data, width, height, options);
  const total = width * height;
  return { different: diff, screenshotMatch: (total - diff) / total };
}

function texts([crawlPath, replayPath]) {
  const origText = fs.readFileSync(crawlPath, "utf8");
  const replayText = fs.readFileSync(replayPath, "utf8");
  const distance = levenshtein(origText, replayText);
  const maxLen = Math.max(origText.length, replayText.length);
  return { distance, textMatch: maxLen > 0 ? (maxLen - distance) / maxLen : 1.0 };
}

function countResources(path) {
  let good = 0;
  let bad = 0;
  for (const [url, { status }] of Object.entries(JSON.parse(fs.readFileSync(path, "utf8")))) {
    if (!url.startsWith("http")) continue;
    if (status >= 400) bad++;
    else good++;
  }
  return [good, bad];
}

function compared({ views, texts: both, urls }) {
  const found = {};
  try {
    if (views) Object.assign(found, screenshots(views));
  } catch (error) {
    found.problem = String(error.message);
  }
  if (both) Object.assign(found, texts(both));
  if (urls) {
    const [crawl, replay] = urls.map(countResources);
    found.resourceCounts = {
      crawlGood: crawl[0], crawlBad: crawl[1], replayGood: replay[0], replayBad: replay[1],
    };
    if (replay[0] === 0 && crawl[0] + crawl[1] > 0) {
      found.screenshotMatch = 0;
      found.textMatch = 0;
    }
  }
  return found;
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify(compared(JSON.parse(line))) + "\n");
});
