// A WebChannel as a browser's Firestore client speaks it, by hand: each request is a `fetch` of its own.

export class Channel {
  constructor(server, method, database, token) {
    this.url = `${server}/google.firestore.v1.Firestore/${method}/channel`;
    this.database = database;
    this.token = token;
    this.requestNumber = 10000 + Math.floor(Math.random() * 80000);
    this.sentCount = 0;
    this.lastArray = 0;
  }

  address(parameters) {
    const query = new URLSearchParams({ database: this.database, VER: 8, CVER: 22, ...parameters });
    query.set("zx", Math.random().toString(36).slice(2));
    query.set("t", 1);
    return `${this.url}?${query}`;
  }

  form(requests, extra = {}) {
    const form = new URLSearchParams({ ...extra, count: requests.length, ofs: this.sentCount });
    requests.forEach((request, index) => form.set(`req${index}___data__`, JSON.stringify(request)));
    return form;
  }

  // The first request. Its answer has the name of the session.
  async open(...requests) {
    const headers = [`Authorization:Bearer ${this.token}`, "X-Goog-Api-Client:gl-js/ page", "Content-Type:text/plain"];
    const body = this.form(requests, { headers: headers.map((header) => header + "\r\n").join("") });
    const answer = await fetch(this.address({ RID: this.requestNumber++, "X-HTTP-Session-Id": "gsessionid" }), {
      method: "POST", body,
    });
    if (!answer.ok) throw new Error(`the channel was refused: ${answer.status} ${await answer.text()}`);
    this.sentCount += requests.length;
    const [[id, [kind, session, , version]]] = frames(await answer.text())[0];
    if (id !== 0 || kind !== "c" || !session || version !== 8) throw new Error("the answer is no handshake");
    this.session = session;
    return session;
  }

  // A later request. `repeats` sends the same one several times.
  async send(request, repeats = 1) {
    const parameters = { SID: this.session, RID: this.requestNumber++, AID: this.lastArray };
    const body = this.form([request]);
    this.sentCount += 1;
    let answer;
    for (let sent = 0; sent < repeats; sent++) {
      answer = await fetch(this.address(parameters), { method: "POST", body });
      if (!answer.ok) throw new Error(`the request was refused: ${answer.status} ${await answer.text()}`);
    }
    return frames(await answer.text())[0];
  }

  // Arrays of the back channel, one at a time. The caller stops by leaving its loop, which cuts the connection.
  async *arrays({ polls = false, from = this.lastArray, parameters = {} } = {}) {
    const abort = new AbortController();
    const address = this.address({
      SID: this.session, RID: "rpc", AID: from, CI: polls ? 1 : 0, TYPE: "xmlhttp", ...parameters,
    });
    const answer = await fetch(address, { signal: abort.signal });
    if (!answer.ok) throw new Error(`the back channel was refused: ${answer.status} ${await answer.text()}`);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    try {
      while (true) {
        const { value, done } = await reader.read();
        if (done) {
          if (text) throw new Error(`the back channel ends within a frame: ${text}`);
          return;
        }
        text += value;
        let found;
        while ((found = frame(text))) {
          text = text.slice(found.end);
          for (const [id, array] of found.value) {
            if (id !== from + 1) throw new Error(`array ${id} comes after ${from}`);
            from = id;
            this.lastArray = Math.max(this.lastArray, id);
            yield [id, array];
          }
        }
      }
    } finally {
      abort.abort();
    }
  }

  async terminate() {
    return fetch(this.address({ SID: this.session, RID: this.requestNumber++, TYPE: "terminate" }), { method: "POST" });
  }
}

// The first complete frame of a text: its length in UTF-16 code units, a line feed, and JSON.
function frame(text) {
  const line = text.indexOf("\n");
  if (line < 0) return null;
  if (!/^[0-9]+$/.test(text.slice(0, line))) throw new Error(`no length: ${text.slice(0, line)}`);
  const end = line + 1 + Number(text.slice(0, line));
  return text.length < end ? null : { value: JSON.parse(text.slice(line + 1, end)), end };
}

function frames(text) {
  const values = [];
  while (text) {
    const found = frame(text);
    if (!found) throw new Error(`no frame: ${text}`);
    values.push(found.value);
    text = text.slice(found.end);
  }
  return values;
}
