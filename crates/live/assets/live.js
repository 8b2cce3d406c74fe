"use strict";
const token = new URLSearchParams(location.search).get("token");
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const shown = document.getElementById("state");
async function start() {
  const created = await fetch("api/sessions", { method: "POST", headers, body: "{}" });
  const session = await created.json();
  if (!created.ok) throw new Error(session.message);
  const url = new URL(`api/sessions/${session.id}/watch`, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.search = token ? `?token=${encodeURIComponent(token)}` : "";
  const socket = new WebSocket(url);
  socket.onmessage = (event) => { shown.textContent = JSON.stringify(JSON.parse(event.data), null, 1); };
}
start().catch((error) => { shown.textContent = String(error); });
