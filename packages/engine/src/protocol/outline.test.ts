import { expect, test } from "vitest"
import { emptyView, foldEvents, isLive, MARK, RunFold, RunOutline, withoutEnded } from "./index.ts"
import { cases, everyTask, realRun } from "./real-runs.test-support.ts"

const STATUS = new Map<number, string>([
  [MARK.started, "running"],
  [MARK.finished, "finished"],
  [MARK.settled, "failed"],
  [MARK.failed, "failed"],
  [MARK.retrying, "backoff"],
  [MARK.parked, "parked"],
  [MARK.resumed, "running"],
  [MARK.cancelled, "cancelled"],
  [MARK.rejected, "rejected"],
])

/** What the outline says about every task at an event. */
function statuses(outline: RunOutline, at: number): Record<string, string> {
  const found: Record<string, string> = {}
  for (const { path, id, node, marks } of outline.tasks) {
    let status: string | undefined
    for (let i = 0; i < marks.length && (marks[i + 1] as number) <= at; i += 3)
      status = STATUS.get(marks[i] as number)
    if (status !== undefined) found[`${outline.paths[path]?.join("/")} ${node} ${id}`] = status
  }
  return found
}

test.each(cases)("%s: at every event, the outline knows every task as the fold does", async (name) => {
  const events = (await realRun(name)).events.filter((event) => !isLive(event))
  const outline = new RunOutline()
  for (const event of [...events, ...events]) outline.add(event)
  const fold = new RunFold()
  for (const event of events) {
    fold.add(event)
    const expected = everyTask(fold.view).map(({ path, node, id, status }) => [
      `${path.join("/")} ${node} ${id}`,
      status === "queued" ? "backoff" : status,
    ])
    expect(statuses(outline, event.seq), `at ${event.seq}`).toEqual(Object.fromEntries(expected))
  }
})

test.each(cases)(
  "%s: an outline, and a view without what has ended, continue in the middle (O1)",
  async (name) => {
    const events = (await realRun(name)).events.filter((event) => !isLive(event))
    const whole = new RunOutline()
    for (const event of events) whole.add(event)
    for (const at of [0, 1, Math.floor(events.length / 2), events.length]) {
      const first = new RunOutline()
      for (const event of events.slice(0, at)) first.add(event)
      const second = RunOutline.from(JSON.parse(JSON.stringify(first)))
      for (const event of events.slice(at)) second.add(event)
      expect(second.toJSON()).toEqual(whole.toJSON())

      const base = JSON.parse(JSON.stringify(withoutEnded(foldEvents(emptyView(), events.slice(0, at)))))
      const { tasks: _, supersteps: __, ...continued } = withoutEnded(foldEvents(base, events.slice(at)))
      const { tasks: ___, supersteps: ____, ...expected } = foldEvents(emptyView(), events)
      expect(JSON.parse(JSON.stringify(continued))).toEqual(JSON.parse(JSON.stringify(expected)))
    }
  },
)
