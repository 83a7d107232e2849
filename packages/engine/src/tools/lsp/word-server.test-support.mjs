/** A small language server for tests: it knows every word of a file, and complains about "mistake". */
let received = Buffer.alloc(0)
const files = new Map()

function send(message) {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message })
  process.stdout.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

function wordsOf(uri) {
  const lines = (files.get(uri) ?? "").split("\n")
  return lines.flatMap((line, n) =>
    [...line.matchAll(/\w+/g)].map(({ 0: name, index }) => {
      const start = { line: n, character: index }
      return { name, uri, range: { start, end: { line: n, character: index + name.length } } }
    }),
  )
}

function wordAt({ textDocument, position }) {
  return wordsOf(textDocument.uri).find(
    ({ range: { start, end } }) =>
      start.line === position.line &&
      start.character <= position.character &&
      position.character < end.character,
  )
}

const same = (params) => wordsOf(params.textDocument.uri).filter(({ name }) => name === wordAt(params)?.name)

const answers = {
  initialize: () => ({ capabilities: {} }),
  "textDocument/hover": (params) => {
    const word = wordAt(params)
    return word === undefined ? null : { contents: { kind: "markdown", value: `the word ${word.name}` } }
  },
  "textDocument/definition": (params) => same(params)[0] ?? null,
  "textDocument/implementation": () => [],
  "textDocument/references": same,
  "textDocument/documentSymbol": ({ textDocument }) =>
    wordsOf(textDocument.uri).map(({ name, range }) => ({
      name,
      range,
      selectionRange: range,
      children: [],
    })),
  "workspace/symbol": ({ query }) =>
    [...files.keys()]
      .flatMap(wordsOf)
      .flatMap(({ name, uri, range }) => (name === query ? [{ name, location: { uri, range } }] : [])),
}

function changed(uri, text) {
  files.set(uri, text)
  if (text.includes("crash")) process.exit(3)
  const diagnostics = wordsOf(uri).flatMap(({ name, range }) =>
    name === "mistake" ? [{ severity: 2, message: "a mistake", range }] : [],
  )
  send({ method: "textDocument/publishDiagnostics", params: { uri, diagnostics } })
}

function handle({ id, method, params }) {
  if (method === "initialized") send({ id: 1, method: "workspace/configuration", params: { items: [{}] } })
  if (method === "textDocument/didOpen") changed(params.textDocument.uri, params.textDocument.text)
  if (method === "textDocument/didChange") changed(params.textDocument.uri, params.contentChanges[0].text)
  if (id === undefined || method === undefined) return
  const answer = answers[method]
  if (answer === undefined) send({ id, error: { code: -32601, message: `no ${method}` } })
  else send({ id, result: answer(params) })
}

process.stdin.on("data", (chunk) => {
  received = Buffer.concat([received, chunk])
  for (;;) {
    const head = received.indexOf("\r\n\r\n")
    if (head < 0) return
    const length = Number(/Content-Length: (\d+)/.exec(received.toString("latin1", 0, head))[1])
    if (received.length < head + 4 + length) return
    const message = JSON.parse(received.toString("utf8", head + 4, head + 4 + length))
    received = received.subarray(head + 4 + length)
    handle(message)
  }
})
