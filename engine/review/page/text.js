"use strict";
// Every node of the page is made here, from texts: nothing that the data say is read as HTML.

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function put(parent, ...children) {
  for (const child of children) {
    if (child !== null && child !== undefined) parent.append(child);
  }
  return parent;
}

function button(label, action, className) {
  const node = make("button", className, label);
  node.type = "button";
  node.addEventListener("click", action);
  return node;
}

// 1234567 as 1,234,567: the locales of a browser take longer to load than the page.
function grouped(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

function plural(count, word) {
  return `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;
}

const markOn = "\x1b[7m";
const markOff = "\x1b[27m";

// A line of contents: its text, and the ranges that stand for characters that cannot be seen.
function readLine(raw) {
  if (!raw.includes(markOn)) return {text: raw, hidden: []};
  let text = "";
  const hidden = [];
  for (const piece of raw.split(markOn)) {
    const end = piece.indexOf(markOff);
    if (end >= 0) {
      hidden.push([text.length, text.length + end]);
      text += piece.slice(0, end) + piece.slice(end + markOff.length);
    } else {
      text += piece;
    }
  }
  return {text, hidden};
}

// Fills a cell with a text of which ranges have a class; ranges of one layer do not overlap.
function paint(cell, text, layers) {
  const cuts = new Set([0, text.length]);
  for (const layer of layers) {
    for (const [begin, end] of layer) {
      cuts.add(begin);
      cuts.add(end);
    }
  }
  if (cuts.size === 2 && layers.every((layer) => layer.length === 0)) {
    cell.textContent = text;
    return;
  }
  const places = [...cuts].sort((a, b) => a - b);
  const next = layers.map(() => 0);
  for (let i = 0; i + 1 < places.length; ++i) {
    const [begin, end] = [places[i], places[i + 1]];
    const classes = [];
    layers.forEach((layer, which) => {
      while (next[which] < layer.length && layer[next[which]][1] <= begin) ++next[which];
      const range = layer[next[which]];
      if (range && range[0] <= begin) classes.push(range[2]);
    });
    const piece = text.slice(begin, end);
    cell.append(classes.length === 0 ? piece : make("span", classes.join(" "), piece));
  }
}
