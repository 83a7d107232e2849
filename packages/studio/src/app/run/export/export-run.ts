/** Reads what an export needs, and saves it as a file. Loaded when somebody exports. */
import type { Run } from "@superstep/client"
import type { RunEvent } from "@superstep/engine/protocol"
import { client } from "../../api/session.ts"
import { download } from "../../ui/copy.tsx"
import { graphModel } from "../graph/graph-model.ts"
import type { RunHistory } from "../history.ts"
import { viewOf } from "../use-run.ts"
import { offlinePage } from "./offline-page.ts"
import { testFile } from "./test-file.ts"

/** Events of one page, and of one file. */
const PAGE = 1_000
const MAX_EVENTS = 5_000

export async function exportTest(run: Run): Promise<void> {
  const { data } = await client.request("GET /v1/runs/{run}/export", { path: { run: run.id } })
  download(`${fileName(run.id)}.test.ts`, testFile(run, data), "text/plain")
}

export async function exportPage(run: Run, history: RunHistory): Promise<void> {
  const path = { run: run.id }
  const graph = client.request("GET /v1/runs/{run}/graph", { path }).catch(() => undefined)
  const events: RunEvent[] = []
  while (events.length < Math.min(MAX_EVENTS, history.length)) {
    const query = { after: events.length, limit: PAGE }
    const { data } = await client.request("GET /v1/runs/{run}/events/page", { path, query })
    if (data.events.length === 0) break
    events.push(...(data.events as RunEvent[]))
  }
  const view = await viewOf(run.id, history.length)
  const data = (await graph)?.data.graph
  const model = data === undefined ? undefined : graphModel(data)
  const page = offlinePage({ run, history, view, model, events })
  download(`${fileName(run.id)}.html`, page, "text/html")
}

function fileName(id: string): string {
  return id.replace(/[^\w.-]+/g, "-")
}
