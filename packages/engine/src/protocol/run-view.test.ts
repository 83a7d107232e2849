import { describe, expect, it } from "vitest"
import { emptyView, foldEvents, RunFold, superstepsOf, taskOf, tasksOf, workflowAt } from "./index.ts"
import { cases, everyTask, realRun, realView } from "./real-runs.test-support.ts"

describe("what a view shows", () => {
  it("tasks, with their attempts and times", async () => {
    const { events } = await realRun("a retry after a delay")
    const failed = events.findIndex(({ type }) => type === "task.failed") + 1
    const between = foldEvents(emptyView(), events.slice(0, failed))
    expect(taskOf(between, 2)).toMatchObject({
      node: "shaky",
      status: "backoff",
      attempt: 1,
      retryAt: 1_500,
      error: { message: "failure 1" },
      startedAt: 1_000,
      finishedAt: undefined,
    })
    const view = foldEvents(between, events.slice(failed))
    expect(taskOf(view, 2)).toMatchObject({
      status: "finished",
      attempt: 3,
      startedAt: 1_000,
      finishedAt: 2_000,
      retryAt: undefined,
      error: undefined,
    })
  })

  it("a task that is tried again at once as queued, until it has its place", async () => {
    const { events } = await realRun("a retry at once")
    const failed = events.findIndex(({ type }) => type === "task.failed") + 1
    expect(taskOf(foldEvents(emptyView(), events.slice(0, failed)), 2)?.status).toBe("queued")
  })

  it("a failure as failed, whether it ended the run, took an error edge, or became a value", async () => {
    for (const name of ["a failure", "an error edge"]) {
      expect(taskOf(await realView(name), 2)).toMatchObject({
        status: "failed",
        error: { message: "no luck" },
      })
    }
    expect(taskOf(await realView("a failure that settles"), 2)).toMatchObject({
      status: "failed",
      error: { message: "no 1" },
    })
  })

  it("a task whose message no handler took as rejected", async () => {
    const view = await realView("a message that no handler takes")
    expect(tasksOf(view).map(({ node, status }) => `${node} ${status}`)).toEqual([
      "start finished",
      "picky rejected",
      "double finished",
    ])
    expect(view.undelivered).toMatchObject([{ from: "start", to: "picky" }])
  })

  it("supersteps, and whose tasks they ran", async () => {
    const view = await realView("a map with few places")
    expect(superstepsOf(view).map(({ superstep, size }) => [superstep, size])).toEqual([
      [1, 1],
      [2, 7],
      [3, 1],
    ])
    expect(tasksOf(view, 2).map(({ id, node }) => `${node} ${id}`)).toEqual(
      [2, 3, 4, 5, 6, 7, 8].map((id) => `double ${id}`),
    )
    expect(superstepsOf(view).every(({ committedAt }) => committedAt === 1_000)).toBe(true)
    expect(tasksOf(view, 9)).toEqual([])
  })

  it("supersteps of flow mode, as far as tasks tell", async () => {
    const view = await realView("flow mode")
    expect(superstepsOf(view).map(({ superstep, size }) => [superstep, size])).toEqual([
      [1, undefined],
      [2, undefined],
      [3, undefined],
    ])
  })

  it("what a parked task waits for", async () => {
    const view = await realView("two questions, one of them answered")
    expect(taskOf(view, 2)).toMatchObject({ status: "parked", waits: [{ kind: "request", request: "r2" }] })
    const nested = await realView("a question in a sub-workflow that waits")
    expect(taskOf(nested, 2)).toMatchObject({
      status: "parked",
      waits: [{ kind: "call", workflow: "asking" }],
    })
  })

  it("requests: who answered what, and when; and those that nobody answered", async () => {
    const { requests } = await realView("a question in a sub-workflow that is answered")
    expect(Object.values(requests)).toMatchObject([
      { status: "answered", answer: "yes", by: "ann", closedAt: 1_000, path: ["asking#2"] },
    ])
    expect((await realView("a question with a default, past its deadline")).requests.r1).toMatchObject({
      status: "answered",
      answer: "no",
      by: "deadline",
      closedAt: 1_100,
    })
    expect((await realView("a question that expires")).requests.r1?.status).toBe("expired")
    expect(
      Object.values((await realView("cancelled with a question in a sub-workflow")).requests)[0]?.status,
    ).toBe("withdrawn")
  })

  it("whom a question is for by now, and since when it was open", async () => {
    const { events } = await realRun("a question that is escalated, and answered")
    const fold = new RunFold()
    const asked: unknown[] = []
    for (const event of events) {
      const { requests, totals } = fold.add(event).view
      if (event.type !== "request.opened" && event.type !== "request.escalated") continue
      const { request, status } = requests.r1 ?? {}
      asked.push([request?.to, request?.deadline, request?.escalate?.length, status, totals.requests])
      expect(request?.openedAt).toBe(1_000)
    }
    expect(asked).toEqual([
      ["ann", 1_100, 2, "open", 1],
      ["bob", 1_300, 1, "open", 1],
      ["eve", 1_600, 0, "open", 1],
    ])
    expect(fold.view.requests.r1).toMatchObject({ status: "answered", by: "ann", closedAt: 1_300 })
    const nested = await realView("a question that is escalated, in a sub-workflow")
    expect(Object.values(nested.requests)).toMatchObject([
      { request: { to: "eve" }, status: "answered", answer: "yes", path: ["inner#2"] },
    ])
    const expired = await realView("a question that is escalated, and expires")
    expect(expired).toMatchObject({ status: "failed", error: { code: "REQUEST_EXPIRED" } })
    expect(expired.requests.r1).toMatchObject({ request: { to: "eve" }, status: "expired", closedAt: 1_600 })
  })

  it("an escalation of an unknown request changes nothing", async () => {
    const { events } = await realRun("a question that is escalated, and waits")
    const at = events.findIndex(({ type }) => type === "request.escalated")
    const view = foldEvents(emptyView(), events.slice(at))
    expect(view.requests).toEqual({})
    expect(view.totals.requests).toBe(0)
  })

  it("a fork with its whole past under its own id, and what was changed in its state", async () => {
    const { events, result } = await realRun(
      "a fork of a run that is over, from its middle, with another state",
    )
    expect(new Set(events.map(({ runId }) => runId))).toEqual(new Set(["run-1"]))
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    const at = events.findIndex(({ type }) => type === "run.forked")
    expect(events[at]).toMatchObject({ from: { runId: "run-0", seq: 6 } })
    const before = foldEvents(emptyView(), events.slice(0, at))
    const after = foldEvents(before, events.slice(at, at + 1))
    expect(before.state).toMatchObject({ count: 3, texts: ["text 1", "and", "text 2", "and"], last: 2 })
    expect(after.state).toEqual({ ...before.state, texts: ["mine"], count: 10, last: -1 })
    expect(after.tasks).toBe(before.tasks)
    expect(foldEvents(after, events.slice(at + 1))).toMatchObject({
      runId: "run-1",
      workflow: "w",
      status: "completed",
      state: { texts: ["mine", "text 3", "and", "text 4", "and", "text 5", "and"], count: 22, last: 5 },
      outputs: result.outputs,
    })
  })

  it("when a fork's questions, sleeps and attempts are due: as much later as it was made", async () => {
    const afterFork = async (name: string) => {
      const { events } = await realRun(name)
      return foldEvents(
        emptyView(),
        events.slice(0, events.findLastIndex(({ type }) => type === "run.forked") + 1),
      )
    }
    for (const name of [
      "a fork whose question has a deadline",
      "a fork whose question has a deadline, in a sub-workflow",
    ]) {
      const { events } = await realRun(name)
      const opened = events.find((event) => event.type === "request.opened")
      expect(opened?.request.deadline).toBe(1_100)
      expect(Object.values((await afterFork(name)).requests)).toMatchObject([
        { request: { deadline: 1_150 } },
      ])
    }
    expect(taskOf(await afterFork("a fork that sleeps"), 2)?.waits).toEqual([{ kind: "timer", until: 2_400 }])
    expect(taskOf(await afterFork("a fork between two attempts"), 2)).toMatchObject({
      status: "backoff",
      retryAt: 1_700,
    })
    expect(taskOf(await realView("a fork that sleeps"), 2)?.finishedAt).toBe(2_400)
    expect(taskOf(await realView("a fork between two attempts"), 2)?.finishedAt).toBe(1_700)
  })

  it("a fork of a fork, each with what it changed", async () => {
    const { events } = await realRun("a fork of a fork")
    const forks = events.filter((event) => event.type === "run.forked")
    expect(forks.map(({ from }) => from.runId)).toEqual(["run-0", "run-0.5"])
    const view = foldEvents(emptyView(), events)
    expect(view).toMatchObject({ outputs: [[1, 2]], state: { texts: ["second"], count: 1 } })
  })

  it("what was forked below: the sub-workflow's question, answered in the fork alone", async () => {
    const { events } = await realRun("a fork with a question in a sub-workflow")
    const forks = events.filter((event) => event.type === "run.forked")
    expect(forks.map(({ path, state }) => [path, state])).toEqual([
      [[], { last: 7 }],
      [["asking#2"], undefined],
    ])
    const view = foldEvents(emptyView(), events)
    expect(view).toMatchObject({ status: "completed", state: { last: 7 } })
    expect(workflowAt(view, ["asking#2"])).toMatchObject({ status: "completed", outputs: ["1: yes"] })
  })

  it("nested workflows by their path, with what is theirs", async () => {
    const view = await realView("a sub-workflow")
    const outer = workflowAt(view, ["outer#2"])
    expect(outer).toMatchObject({ workflow: "outer", status: "completed", input: 1, outputs: [4] })
    const inner = workflowAt(view, ["outer#2", "inner#2"])
    expect(inner).toMatchObject({ workflow: "inner", status: "completed", input: 2, outputs: [4] })
    expect(inner && tasksOf(inner).map(({ node, path }) => [node, path])).toEqual([
      ["start", ["outer#2", "inner#2"]],
      ["double", ["outer#2", "inner#2"]],
    ])
    expect(workflowAt(view, [])).toBe(view)
    expect(workflowAt(view, ["outer#3"])).toBeUndefined()
    expect(workflowAt(view, ["nobody#9", "inner#2"])).toBeUndefined()
  })

  it("each call of a task that called again", async () => {
    const view = await realView("a sub-workflow that fails and is called again")
    expect(taskOf(view, 2)?.calls.map(({ workflow, status }) => [workflow, status])).toEqual([
      ["failing", "failed"],
      ["inner", "completed"],
    ])
  })

  it("a workflow below as cancelled when the run ended over it", async () => {
    const view = await realView("cancelled with a question in a sub-workflow")
    const below = workflowAt(view, ["asking#2"])
    expect(below).toMatchObject({ status: "cancelled", atWork: 0, resting: false })
    expect(below && tasksOf(below)).toMatchObject([{ status: "cancelled", waits: [] }])
  })

  it("usage, in all and by node, what is below included once", async () => {
    const { result } = await realRun("usage of a sub-workflow")
    const view = await realView("usage of a sub-workflow")
    expect(view.usage).toEqual(result.usage)
    expect(view.usageByNode).toEqual({
      spends: { inputTokens: 30, outputTokens: 7, modelCalls: 1, usd: 0.1 },
      spending: { inputTokens: 30, outputTokens: 7, modelCalls: 1, usd: 0.1 },
    })
    expect(workflowAt(view, ["spending#2"])?.usage).toEqual(view.usageByNode.spending)
  })

  it("the limit that sent a run along its way out", async () => {
    const view = await realView("a limit with a way out")
    expect(view).toMatchObject({ status: "completed", error: undefined, limit: { code: "CONVERGENCE" } })
  })

  it("every status of a task, over all these runs", async () => {
    const seen = new Set<string>()
    for (const [, make] of cases) {
      const fold = new RunFold()
      for (const event of (await make()).events)
        for (const { status } of everyTask(fold.add(event).view)) seen.add(status)
    }
    expect([...seen].sort()).toEqual(
      ["backoff", "cancelled", "failed", "finished", "parked", "queued", "rejected", "running"].sort(),
    )
  })
})
