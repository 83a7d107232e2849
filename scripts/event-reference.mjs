// Writes docs/events.md, the reference of every event, from the schemas of superstep/protocol. A test compares the two.
import { writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { runEvent } from "superstep/protocol"
import { z } from "zod"

/** @typedef {import("superstep/protocol").RunEvent} RunEvent */
/** @typedef {{ [key: string]: any }} JsonSchema */

export const REFERENCE = join(resolve(import.meta.dirname, ".."), "docs", "events.md")

/**
 * In the order of the page. An event without an entry, or an entry without an event, does not compile.
 * @satisfies {{ readonly [Type in RunEvent["type"]]: string }}
 */
const EVENTS = {
  "run.started":
    "The run, or a workflow called by it, has started. `state` is its shared state before the first write.",
  "run.forked":
    "The run is a fork: it continues from record `from.seq` of another run. `later` is the number of milliseconds by which deadlines and timers moved.",
  "run.waiting":
    "Nothing in the run executes: it waits for a person, a signal, a timer, or a called workflow.",
  "run.resumed":
    "The run continues after it waited, or after a pause: then `by` says who resumed it, if known.",
  "run.paused":
    "Somebody paused the run. It starts nothing more until it is resumed; what executes finishes. Called workflows are paused with it.",
  "run.finished":
    "The run is over. It is the last event of a run; of a called workflow, the last under its path.",
  "limit.reached":
    "A limit or a budget is used up. With `goesTo` the run continues at that node; without it, it ends.",
  "superstep.started": "A superstep begins, with the number of its tasks.",
  "superstep.committed": "All tasks of the superstep are done, and their writes are visible.",
  "task.started": "A node's handler is called with a message. `from` is the node that sent it.",
  "task.finished":
    "The handler returned. `sends` are its messages, with the routes they took. `settled` is the error that the node's policy turned into a message.",
  "task.failed":
    "An attempt failed. `retryAt` is when the next one begins; without it, this was the last one.",
  "task.parked": "The task waits for a person, a signal, a timer, or a called workflow.",
  "task.resumed": "The task continues after it waited.",
  "task.rejected": "No handler of the node takes the message, which is reported as undelivered.",
  "task.cancelled": "The task was stopped before it was done.",
  "step.recorded": "`ctx.step`, a model call or a tool call has a result, which is not computed again.",
  "usage.recorded": "Tokens, money or calls were counted, with the agent and the model that used them.",
  "message.undelivered": "A message reached no node.",
  "join.waiting": "A join has some of its messages, and waits for those of the nodes in `missing`.",
  "state.written":
    "A write to shared state became visible. `reducer` says how `value` is combined with the value before.",
  output: "The run has an output.",
  "request.opened": "A person is asked. Answer with `run.respond(request.id, value)`.",
  "request.escalated": "No answer came in time: the request now goes to another person.",
  "request.answered": "The request has an answer.",
  "request.closed": "The request needs no answer any more: its time is up, or the task that asked is gone.",
  "signal.received": "A signal arrived. The run buffers it until `ctx.waitFor` takes it.",
  "signal.taken": "A wait of the task took the signal. The task may have waited before or after it arrived.",
  "signal.replied": "A handler replied to the signal, whose sender waits for that: see `runtime.update`.",
  "model.delta":
    "A piece of what a model says. `offset` is the length of what came before it in the same `call`, of the same `kind` and `tool`; an offset of 0 starts over, after a retry.",
  "output.partial":
    "The data of an agent's answer, as far as it has arrived. Each replaces the one before it in the same `call`.",
  "tool.progress":
    "What a tool reports while it runs: `call.progress(data)`, or what an async generator yields.",
  custom: "An event of your own: `ctx.emit(name, data)`.",
  log: "A log line: `ctx.log(level, message, data)`.",
  "slot.waiting":
    "The task waits for a slot: the `flow` of its node limits it across runs and processes. `pool` is the workflow and the node, `lanes` are the limits with their keys.",
  "live.gap":
    "Live events are missing here: the watcher was too slow, or the process that sent them died. `lost` says how many; it is absent when the number is unknown.",
}

/** @type {ReadonlySet<string>} */
const LIVE = new Set([
  "model.delta",
  "output.partial",
  "tool.progress",
  "custom",
  "log",
  "slot.waiting",
  "live.gap",
])

const COMMON = ["runId", "seq", "at", "path", "type"]

export function eventReference() {
  const schemas = new Map(
    runEvent.def.options.map((option) => [option.shape.type.def.values[0], z.toJSONSchema(option)]),
  )
  const entries = Object.entries(EVENTS).map(([type, text]) => [
    type,
    text,
    schemas.get(/** @type {any} */ (type)),
  ])
  const kept = entries.filter(([type]) => !LIVE.has(String(type)))
  const live = entries.filter(([type]) => LIVE.has(String(type)))
  return `${[
    "# Event reference",
    "<!-- Written by `npm run events` from the schemas of superstep/protocol. Do not edit. -->",
    "Every event of a run, with its fields. [Streaming](streaming.md) explains how to receive them. A field with `?` may be absent. `JSON` is any JSON value; times are milliseconds since the epoch. `parseEvent` in `superstep/protocol` checks an event that came over a network.",
    "## Every event",
    [
      "| field | type | meaning |",
      "| --- | --- | --- |",
      "| `runId` | string | the run |",
      "| `seq` | integer | 1, 2, 3, … over the whole run. A live event has the number of the journaled event before it |",
      "| `at` | number | when it happened |",
      "| `path` | string[] | the tasks through which a called workflow was reached, each as `node#task`; empty for the run itself |",
      "| `type` | string | which event it is |",
    ].join("\n"),
    "## Journaled events",
    "These follow from the journal: numbered, and the same for everyone who asks again.",
    ...kept.map(([type, text, schema]) => entryOf(String(type), String(text), schema)),
    "## Live events",
    "These are not in the journal: they reach observers only while they happen.",
    ...live.map(([type, text, schema]) => entryOf(String(type), String(text), schema)),
    "## Errors",
    "An error in an event is data. `code` tells errors apart; `cause` is the error that caused it.",
    errorFields(schemas.get("run.finished")),
  ].join("\n\n")}\n`
}

/** @param {any} finished */
function errorFields(finished) {
  return tableOf(resolved(finished.properties.error, finished), finished, [])
}

/**
 * @param {string} type
 * @param {string} text
 * @param {any} schema
 */
function entryOf(type, text, schema) {
  return [`### \`${type}\``, text, tableOf(schema, schema, COMMON)].filter((part) => part !== "").join("\n\n")
}

/**
 * @param {JsonSchema} schema
 * @param {JsonSchema} root
 * @param {readonly string[]} except
 */
function tableOf(schema, root, except) {
  const required = new Set(schema.required)
  const rows = Object.entries(schema.properties)
    .filter(([name]) => !except.includes(name))
    .map(([name, field]) => `| \`${name}${required.has(name) ? "" : "?"}\` | ${typeOf(field, root, 2)} |`)
  return rows.length === 0 ? "" : ["| field | type |", "| --- | --- |", ...rows].join("\n")
}

/**
 * @param {JsonSchema} given
 * @param {JsonSchema} root
 * @param {number} depth how many levels of fields are written out
 * @returns {string}
 */
function typeOf(given, root, depth) {
  const schema = resolved(given, root)
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum !== undefined)
    return schema.enum.map((/** @type {string} */ one) => `\`"${one}"\``).join(" or ")
  const either = schema.oneOf ?? schema.anyOf
  if (either !== undefined) {
    return either.map((/** @type {JsonSchema} */ one) => typeOf(one, root, depth)).join(" or ")
  }
  if (schema.type === "array") return listOf(typeOf(schema.items, root, depth))
  if (schema.type === "object") return objectOf(schema, root, depth)
  return schema.type ?? "JSON"
}

/** @param {string} item */
function listOf(item) {
  return item.includes(" ") ? `list of ${item}` : `${item}[]`
}

/**
 * @param {JsonSchema} schema
 * @param {JsonSchema} root
 * @param {number} depth
 */
function objectOf(schema, root, depth) {
  if (schema.properties === undefined)
    return `object of ${typeOf(schema.additionalProperties ?? {}, root, depth)}`
  if (schema.properties.code !== undefined) return "[error](#errors)"
  if (depth === 0) return "object"
  const required = new Set(schema.required)
  const fields = Object.entries(schema.properties).map(
    ([name, field]) => `\`${name}${required.has(name) ? "" : "?"}\` ${typeOf(field, root, depth - 1)}`,
  )
  return `{ ${fields.join(", ")} }`
}

/**
 * @param {JsonSchema} schema
 * @param {JsonSchema} root
 */
function resolved(schema, root) {
  if (schema.$ref === undefined) return schema
  /** @type {JsonSchema} */
  let found = root
  for (const part of schema.$ref.split("/").slice(1)) found = found[part]
  return found
}

if (import.meta.filename === process.argv[1]) writeFileSync(REFERENCE, eventReference())
