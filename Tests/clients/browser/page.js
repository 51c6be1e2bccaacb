// The steps of the page. Each prints what it has seen, or why it failed.

import { Channel } from "./channel.js";

const parameters = new URLSearchParams(location.search);
const server = parameters.get("server");
const token = parameters.get("token");
const database = parameters.get("database");
const isHTTP2 = parameters.get("http2") === "1";
const isEmulator = parameters.get("emulator") === "1";
const run = Math.random().toString(36).slice(2);
const documents = `${database}/documents`;

function text(value) {
  return { text: { stringValue: value } };
}

async function commit(...writes) {
  const answer = await fetch(`${server}/v1/${documents}:commit`, {
    method: "POST",
    headers: { "Content-Type": "text/plain", Authorization: `Bearer ${token}` },
    body: JSON.stringify({ writes }),
  });
  if (!answer.ok) throw new Error(`the commit failed: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function read(path) {
  const answer = await fetch(`${server}/v1/${documents}/${path}`, { headers: { Authorization: `Bearer ${token}` } });
  return answer.status === 404 ? null : (await answer.json()).fields;
}

function set(path, value) {
  return { update: { name: `${documents}/${path}`, fields: text(value) } };
}

function target(collection, id) {
  return {
    database,
    addTarget: {
      query: { structuredQuery: { from: [{ collectionId: collection }], orderBy: [{ field: { fieldPath: "__name__" } }] },
               parent: documents },
      targetId: id,
    },
  };
}

function listen() {
  return new Channel(server, "Listen", database, token);
}

function expect(found, expected) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
  }
}

// Reads arrays until `isLast` holds, and returns the messages that are no sign of life.
async function messages(channel, isLast, options) {
  const found = [];
  for await (const [, array] of channel.arrays(options)) {
    if (array[0] === "noop") continue;
    found.push(array[0]);
    if (isLast(array[0])) return found;
  }
  throw new Error(`the back channel ended after ${JSON.stringify(found)}`);
}

function isConsistent(message) {
  const change = message.targetChange;
  return change && (change.targetChangeType ?? "NO_CHANGE") === "NO_CHANGE" && !change.targetIds?.length && change.readTime;
}

function isChange(value) {
  return (message) => message.documentChange?.document.fields.text.stringValue === value;
}

const steps = {
  async "a listener sees the documents and later changes"() {
    const rooms = `rooms-${run}`;
    await commit(set(`${rooms}/a`, "one"));
    const channel = listen();
    await channel.open(target(rooms, 2));
    const first = await messages(channel, isConsistent);
    const kinds = first.map((message) => message.documentChange?.document.fields.text.stringValue
      ?? message.targetChange.targetChangeType ?? "NO_CHANGE");
    expect(kinds, ["ADD", "one", "CURRENT", "NO_CHANGE"]);
    const changed = messages(channel, isChange("two"));
    await commit(set(`${rooms}/b`, "two"));
    await changed;
    await channel.terminate();
  },

  async "lengths count UTF-16 code units"() {
    const rooms = `units-${run}`;
    const value = "é 漢 😀 \u{10FFFF} \"\\\n";
    await commit(set(`${rooms}/a`, value));
    const channel = listen();
    await channel.open(target(rooms, 2));
    await messages(channel, isChange(value));
    await channel.terminate();
  },

  async "targets are added and removed while the back channel is open"() {
    const second = `second-${run}`;
    await commit(set(`${second}/a`, "of the second target"));
    const channel = listen();
    await channel.open(target(`first-${run}`, 2));
    let seesFirst;
    const first = new Promise((resolve) => (seesFirst = resolve));
    const found = messages(channel, (message) => {
      if (isConsistent(message)) seesFirst();
      return isChange("of the second target")(message);
    });
    await first;
    const answer = await channel.send(target(second, 4));
    if (answer.length !== 3 || answer[0] !== 1) throw new Error(`no back channel in ${JSON.stringify(answer)}`);
    await found;
    const removed = messages(channel, (message) => message.targetChange?.targetChangeType === "REMOVE");
    await channel.send({ database, removeTarget: 4 });
    expect((await removed).at(-1).targetChange.targetIds, [4]);
    await channel.terminate();
  },

  async "arrays without an acknowledgement come again after a cut"() {
    const rooms = `again-${run}`;
    await commit(set(`${rooms}/a`, "one"));
    const channel = listen();
    await channel.open(target(rooms, 2));
    const first = [];
    for await (const array of channel.arrays()) {
      first.push(array);
      if (isConsistent(array[1][0])) break;
    }
    const again = [];
    for await (const array of channel.arrays({ from: first[1][0] })) {
      again.push(array);
      if (again.length === first.length - 2) break;
    }
    expect(again, first.slice(2));
    await commit(set(`${rooms}/a`, "two"));
    await messages(channel, isChange("two"));
    await channel.terminate();
  },

  async "long polling receives everything"() {
    const rooms = `polls-${run}`;
    await commit(set(`${rooms}/a`, "one"));
    const channel = listen();
    await channel.open(target(rooms, 2));
    const seen = [];
    let pollCount = 0;
    for (const value of ["one", "two", "three"]) {
      if (value !== "one") await commit(set(`${rooms}/a`, value));
      while (seen.at(-1) !== value) {
        pollCount++;
        for await (const [, array] of channel.arrays({ polls: true })) {
          const change = array[0].documentChange;
          if (change) seen.push(change.document.fields.text.stringValue);
        }
      }
    }
    expect(seen, ["one", "two", "three"]);
    if (pollCount < 3) throw new Error("a poll did not end");
    await channel.terminate();
  },

  async "a write stream counts a repeated request once"() {
    const channel = new Channel(server, "Write", database, token);
    await channel.open({ database });
    const [handshake] = await messages(channel, (message) => message.streamToken);
    const name = `${documents}/counters-${run}/a`;
    const count = {
      transform: { document: name, fieldTransforms: [{ fieldPath: "n", increment: { integerValue: 1 } }] },
    };
    await channel.send({ streamToken: handshake.streamToken, writes: [count] }, 3);
    const [written] = await messages(channel, (message) => message.commitTime);
    await channel.send({ streamToken: written.streamToken, writes: [count] });
    await messages(channel, (message) => message.commitTime);
    expect(await read(`counters-${run}/a`), { n: { integerValue: "2" } });
    await channel.terminate();
  },

  async "a write that fails ends its session with the error"() {
    const channel = new Channel(server, "Write", database, token);
    await channel.open({ database });
    const [handshake] = await messages(channel, (message) => message.streamToken);
    const write = { update: { name: `${documents}/none-${run}/a`, fields: {} }, currentDocument: { exists: true } };
    await channel.send({ streamToken: handshake.streamToken, writes: [write] });
    const [failed] = await messages(channel, (message) => message.error);
    // The emulator sends no code.
    expect([failed.error.code ?? 404, failed.error.status], [404, "NOT_FOUND"]);
  },

  async "a session that has ended is unknown"() {
    const channel = listen();
    await channel.open(target(`ended-${run}`, 2));
    await messages(channel, isConsistent);
    const ended = await channel.terminate();
    expect(ended.status, 200);
    const later = await fetch(channel.address({ SID: channel.session, RID: "rpc", AID: 0, CI: 0, TYPE: "xmlhttp" }));
    expect(later.status, 400);
  },

  async "a page of another origin reaches nothing"() {
    // The origin of a page in a sandbox is `null`.
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts";
    const open = new Channel(server, "Write", database, token);
    const body = open.form([{ database }], { headers: `Authorization:Bearer ${token}\r\n` }).toString();
    const request = {
      [`${server}/v1/${documents}:commit`]: JSON.stringify({ writes: [set(`sandbox-${run}/a`, "written")] }),
      [open.address({ RID: 1 })]: body,
    };
    const results = new Promise((resolve) => addEventListener("message", (event) => resolve(event.data), { once: true }));
    frame.srcdoc = `<script>(async () => {
      const results = [];
      for (const [address, body] of Object.entries(${JSON.stringify(request)})) {
        try { results.push((await fetch(address, { method: "POST", body })).status); }
        catch { results.push("refused"); }
      }
      parent.postMessage(results, "*");
    })()</` + "script>";
    document.body.append(frame);
    expect(await results, ["refused", "refused"]);
    expect(await read(`sandbox-${run}/a`), null);
  },

  async "eight back channels are open at once"() {
    // A browser opens six connections of HTTP/1.1 to a server, and one of HTTP/2. That one may have ten sessions.
    const channels = Array.from({ length: 8 }, listen);
    await Promise.all(channels.map((channel, index) => channel.open(target(`many-${run}`, index + 1))));
    const consistent = [];
    const all = channels.map((channel) => {
      let ready;
      consistent.push(new Promise((resolve) => (ready = resolve)));
      return messages(channel, (message) => {
        if (isConsistent(message)) ready();
        return isChange("for all")(message);
      });
    });
    await Promise.all(consistent);
    await commit(set(`many-${run}/a`, "for all"));
    await Promise.all(all);
    await Promise.all(channels.map((channel) => channel.terminate()));
  },
};

if (!isHTTP2) delete steps["eight back channels are open at once"];
if (isEmulator) delete steps["a page of another origin reaches nothing"];

const results = [];
for (const [name, step] of Object.entries(steps)) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("not done after 20 seconds")), 20000));
  try {
    await Promise.race([step(), late]);
    results.push({ step: name });
  } catch (error) {
    results.push({ step: name, error: String(error) });
  }
}
await fetch("/results", { method: "POST", body: JSON.stringify(results) });
