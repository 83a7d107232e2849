/**
 * A run as one HTML file: opens from a disk, makes no request, runs no script, and has no secrets that can be recognised.
 * Everything that the run contains is text: it is escaped, and the policy of the page allows styles only.
 */
import type { Run } from "@superstep/client"
import type { RunEvent, RunView } from "@superstep/engine/protocol"
import { count, duration, exact, money, offset } from "../../ui/format.ts"
import { eventWords, nodeOf } from "../event-words.ts"
import type { GraphModel } from "../graph/graph-model.ts"
import { layoutOf } from "../graph/layout.ts"
import { type NodeState, nodeStates, taskAt } from "../graph/node-states.ts"
import type { RunHistory } from "../history.ts"
import { withoutSecrets } from "./without-secrets.ts"

export interface ExportedRun {
  readonly run: Run
  readonly history: RunHistory
  readonly view: RunView
  readonly model: GraphModel | undefined
  /** The first events; the rest is counted. */
  readonly events: readonly RunEvent[]
}

/** Characters of one value. */
const MAX_VALUE = 50_000
const MAX_TASKS = 2_000

export function offlinePage(exported: ExportedRun): string {
  const run = withoutSecrets(exported.run) as Run
  const view = withoutSecrets(exported.view) as RunView
  const events = withoutSecrets(exported.events) as readonly RunEvent[]
  const { history, model } = exported
  const title = `${run.workflow} ${run.id}`
  const { inputTokens = 0, outputTokens = 0, usd } = view.usage
  const took =
    view.startedAt === undefined ? "" : duration((view.finishedAt ?? run.updatedAt) - view.startedAt)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width">
<title>${html(title)}</title>
<style>${STYLE}</style>
<h1>${html(title)} <small data-status="${html(view.status)}">${html(view.status)}</small></h1>
<p>${[exact(view.startedAt ?? run.createdAt), took, usd === undefined ? "" : money(usd), `${count(inputTokens + outputTokens)} tokens`, `${count(history.length)} events`].filter(Boolean).map(html).join(" · ")}</p>
<p class="note">Exported from Superstep. Fields with secret names and texts that look like keys are replaced by [secret].</p>
${view.error === undefined ? "" : `<p class="error">${html(view.error.message)}</p>`}
${model === undefined ? "" : graph(model, history)}
${section("Input", view.input)}
${view.outputs.map((value, i) => section(view.outputs.length === 1 ? "Output" : `Output ${i + 1}`, value)).join("")}
${Object.keys(view.state).length === 0 ? "" : section("State", view.state)}
${tasks(history)}
<h2>Events</h2>
<table><tr><th>#<th>time<th>type<th>node<th>what happened</tr>
${events.map((event) => eventRow(event, history.outline.startedAt)).join("\n")}
</table>
${events.length < history.length ? `<p class="note">${count(history.length - events.length)} more events are not in this file.</p>` : ""}
</html>
`
}

function html(text: unknown): string {
  return String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

function json(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "–")
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}… (${count(text.length)} characters)` : text
}

function section(title: string, value: unknown): string {
  return `<h2>${html(title)}</h2><pre>${html(json(value))}</pre>`
}

function eventRow(event: RunEvent, start: number): string {
  const words = `<details><summary>${html(eventWords(event))}</summary><pre>${html(json(event))}</pre></details>`
  return `<tr><td>${event.seq}<td>+${html(offset(event.at - start))}<td>${html(event.type)}<td>${html(nodeOf(event) ?? "")}<td>${words}</tr>`
}

function tasks(history: RunHistory): string {
  const { tasks: all, errors } = history.outline
  const rows = all.slice(0, MAX_TASKS).flatMap((task, i) => {
    const now = taskAt(task, history.length)
    if (now === undefined) return []
    const took = now.to === undefined ? "" : duration(now.to - now.from)
    const error = withoutSecrets(errors.get(i) ?? "")
    return [
      `<tr><td>${html(task.node)}<td>${task.id}<td data-status="${now.status}">${html(now.status)}<td>${now.attempts}<td>+${html(offset(now.from))}<td>${html(took)}<td>${html(error)}</tr>`,
    ]
  })
  const more = all.length > MAX_TASKS ? `<p class="note">${count(all.length - MAX_TASKS)} more.</p>` : ""
  return `<h2>Tasks</h2><table><tr><th>node<th>task<th>status<th>attempts<th>started<th>took<th>error</tr>${rows.join("\n")}</table>${more}`
}

function graph(model: GraphModel, history: RunHistory): string {
  const { nodes, edges, width, height } = layoutOf(model, new Set())
  const states = nodeStates(history, history.length, new Set())
  const lines = edges.map(({ line, label, edge, key }) => {
    const times = history.countOf(key, history.length)
    const words = [edge.label, times > 1 ? `×${count(times)}` : ""].filter(Boolean).join(" ")
    return `<path d="${line}" class="line" data-taken="${times > 0}" marker-end="url(#head)"/>${words === "" ? "" : `<text x="${label.x}" y="${label.y + 4}" class="label">${html(words)}</text>`}`
  })
  const boxes = nodes.map(({ x, y, width: w, height: h, kind, node, key }) => {
    const state = states.get(key)
    const name = node?.id ?? kind
    const text = `<text x="${x + w / 2}" y="${y + h / 2 + (state === undefined ? 4 : -2)}">${html(name.slice(0, 24))}</text>`
    const facts =
      state === undefined
        ? ""
        : `<text x="${x + w / 2}" y="${y + h / 2 + 14}" class="label">${html(factsOf(state))}</text>`
    return `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="6" data-status="${state?.status ?? "idle"}"/>${text}${facts}`
  })
  return `<h2>Graph</h2><div class="graph"><svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Graph"><defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 Z"/></marker></defs>${lines.join("")}${boxes.join("")}</svg></div>`
}

function factsOf({ status, total, failed, usd }: NodeState): string {
  return [
    status,
    total > 1 ? `×${count(total)}` : "",
    failed > 0 && total > 1 ? `${count(failed)} failed` : "",
    usd === undefined ? "" : money(usd),
  ]
    .filter((word) => word !== "" && word !== "–")
    .join(" · ")
}

const STYLE = `
:root{color-scheme:light dark;font:14px/1.45 system-ui,sans-serif}
body{max-width:1100px;margin:24px auto;padding:0 16px}
h1{font-size:20px}h2{font-size:15px;margin:24px 0 8px}
small{font-size:13px;font-weight:500;padding:2px 8px;border:1px solid;border-radius:10px}
pre{margin:0;padding:8px;overflow:auto;max-height:480px;font:12px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid #8884;border-radius:6px}
table{border-collapse:collapse;width:100%;font-size:12px;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:3px 8px;border-bottom:1px solid #8884}
summary{cursor:pointer;overflow-wrap:anywhere}
.note{color:light-dark(#555,#aaa);font-size:12px}
.error,[data-status=failed],[data-status=rejected]{color:light-dark(#b42318,#ff8f86)}
[data-status=completed],[data-status=finished]{color:light-dark(#116329,#6fd08c)}
.graph{overflow:auto;border:1px solid #8884;border-radius:6px}
svg{display:block;margin:auto;font:13px system-ui,sans-serif}
svg text{text-anchor:middle;fill:currentColor}svg .label{font-size:11px;opacity:.75}
svg rect{fill:light-dark(#fff,#1b1c20);stroke:currentColor}
.line{fill:none;stroke:#888;stroke-dasharray:4 4}.line[data-taken=true]{stroke-width:1.75;stroke-dasharray:none}
`
