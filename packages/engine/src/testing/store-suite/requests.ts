/** Store suite: requests of all runs. Open requests are found in order until they have an outcome. */

import assert from "node:assert/strict"
import type { OpenRequest } from "../../core/index.ts"
import type {
  ClosedRequest,
  Mail,
  MailOutcome,
  RequestQuery,
  Store,
  StoredRequest,
} from "../../runtime/index.ts"
import {
  end,
  FINAL,
  fieldsOf,
  leaseOf,
  mailTo,
  plain,
  records,
  rejects,
  request,
  runOf,
  START,
  type StoreCases,
  start,
  startAndEnd,
  take,
  write,
} from "./steps.ts"
import { VALUES } from "./values.ts"

const ANY: readonly StoredRequest["outcome"][] = ["open", "answered", "expired", "withdrawn"]

export const requestCases: StoreCases = {
  async "has no request that was not opened"(store) {
    await start(store, "r")
    assert.deepEqual(await store.requests({}), [])
    assert.deepEqual(await store.requests({ outcome: ANY }), [])
    assert.deepEqual(await store.requests({ runId: "unknown" }), [])
  },

  async "returns a question with all its fields, its run and its workflow"(store) {
    const bare = request("bare")
    const full: OpenRequest = {
      id: "full",
      node: "approve",
      task: 12,
      prompt: "May it go out?",
      to: "anna",
      data: { draft: ["text", 1, null] },
      schema: { type: "boolean" },
      openedAt: START + 7,
      deadline: START + 1_000,
      escalate: [{ to: "ben", timeout: 1_000 }, { to: "carl" }],
      default: false,
    }
    await start(store, "r", { workflow: "letters", change: { opened: [bare, full] } })
    const more = { runId: "r", workflow: "letters", outcome: "open" }
    assert.deepEqual(plain(await store.requests({})), [
      { ...bare, ...more },
      { ...full, ...more },
    ])
  },

  async "distinguishes empty data, schema and default from absent ones"(store) {
    const values = [null, false, 0, "", []]
    const opened = values.map((value, i) => request(`${i}`, { data: value, schema: value, default: value }))
    await start(store, "r", { change: { opened } })
    const found = await store.requests({})
    assert.deepEqual(
      fieldsOf(found, "data", "schema", "default"),
      values.map((value) => [value, value, value]),
    )
  },

  async "closes a question with its outcome, when and by whom"(store) {
    const ids = ["asked", "answered", "answered by", "expired", "withdrawn"]
    const lease = await start(store, "r", { change: { opened: ids.map((id) => request(id)) } })
    const closed: ClosedRequest[] = [
      { id: "answered", outcome: "answered", at: START + 5 },
      { id: "answered by", outcome: "answered", at: START + 6, by: "anna" },
      { id: "expired", outcome: "expired", at: START + 7 },
      { id: "withdrawn", outcome: "withdrawn", at: START + 8 },
    ]
    await write(store, lease, { closed })
    assert.deepEqual(await idsOf(store, {}), ["asked"])
    for (const { id, outcome, at, by } of closed) {
      const found = await store.requests({ outcome: [outcome] })
      const one = found.find((question) => question.id === id)
      assert.deepEqual([one?.outcome, one?.closedAt, one?.by], [outcome, at, by])
    }
  },

  async "closes a question that is opened and closed by one append"(store) {
    const closed = [{ id: "q", outcome: "answered" as const, at: START + 1, by: "anna" }]
    await start(store, "r", { change: { opened: [request("q"), request("p")], closed } })
    assert.deepEqual(await outcomes(store), { q: "answered", p: "open" })
  },

  async "ignores the closing of an unknown question"(store) {
    await start(store, "other", { change: { opened: [request("q")] } })
    const lease = await start(store, "r")
    await write(store, lease, { closed: [{ id: "q", outcome: "answered", at: START }] })
    assert.deepEqual(await idsOf(store, {}), ["q"])
    assert.deepEqual(await idsOf(store, { runId: "r", outcome: ANY }), [])
  },

  async "withdraws the open questions of a run that ends, and only those"(store) {
    for (const status of FINAL) {
      const opened = [request("open"), request("answered")]
      const lease = await start(store, status, { change: { opened } })
      await write(store, lease, {
        closed: [{ id: "answered", outcome: "answered", at: START + 3, by: "anna" }],
      })
      await end(store, lease, START + 50, status)
      const found = await store.requests({ runId: status, outcome: ANY })
      assert.deepEqual(fieldsOf(found, "id", "outcome", "closedAt", "by"), [
        ["open", "withdrawn", START + 50, undefined],
        ["answered", "answered", START + 3, "anna"],
      ])
    }
  },

  async "withdraws open questions at the time of the last entry if a run ends with several"(store) {
    const lease = await start(store, "r", { change: { opened: [request("before")] } })
    const closed = [{ id: "answered", outcome: "answered" as const, at: START + 2 }]
    const opened = [request("with"), request("answered")]
    await store.append(lease, 1, records(2, 3), { status: "failed", opened, closed })
    const found = await store.requests({ outcome: ANY })
    assert.deepEqual(fieldsOf(found, "id", "outcome", "closedAt"), [
      ["before", "withdrawn", START + 4],
      ["with", "withdrawn", START + 4],
      ["answered", "answered", START + 2],
    ])
    assert.deepEqual(await idsOf(store, {}), [])
  },

  async "leaves the questions of other runs open when one ends"(store) {
    await start(store, "other", { change: { opened: [request("q")] } })
    await end(store, await start(store, "r", { change: { opened: [request("q")] } }))
    const open = await store.requests({})
    assert.deepEqual(fieldsOf(open, "runId", "id"), [["other", "q"]])
  },

  async "keeps a question open while its run waits, is released, or changes hands"(store) {
    const lease = await start(store, "r", { change: { status: "waiting", opened: [request("q")] } })
    await store.release(lease, undefined)
    await store.claim("r", 1, "other")
    assert.deepEqual(await idsOf(store, {}), ["q"])
  },

  async "replaces a question that is opened again"(store) {
    const first = request("b", { to: "anna", deadline: START + 10, data: { draft: 1 }, default: true })
    const lease = await start(store, "r", { change: { opened: [request("a"), first, request("c")] } })
    const again = request("b", {
      to: "boss",
      prompt: "Escalated: is it b?",
      data: { draft: 2 },
      openedAt: START + 10,
    })
    await write(store, lease, { opened: [again] })
    const found = await store.requests({})
    assert.deepEqual(fieldsOf(found, "id"), ["a", "b", "c"])
    assert.deepEqual(plain(found[1]), { ...again, runId: "r", workflow: "workflow", outcome: "open" })
    assert.deepEqual(await idsOf(store, { to: "anna" }), [])
    assert.deepEqual(await idsOf(store, { to: "boss" }), ["b"])
  },

  async "separates questions of several runs with the same id"(store) {
    const one = await start(store, "one", { change: { opened: [request("q", { data: 1 })] } })
    await start(store, "two", { change: { opened: [request("q", { data: 2 })] } })
    await write(store, one, { closed: [{ id: "q", outcome: "answered", at: START }] })
    const [open, ...none] = await store.requests({})
    assert.deepEqual([open?.runId, open?.data, none], ["two", 2, []])
  },

  async "returns questions oldest first, over all runs"(store) {
    const leases = [await start(store, "z"), await start(store, "a"), await start(store, "m")]
    const expected: string[] = []
    for (let i = 0; i < 12; i++) {
      const id = `${(i * 5) % 12}`
      const lease = leases[i % 3]
      assert.ok(lease)
      await write(store, lease, { opened: [request(id, { openedAt: START + i })] }, START + i)
      expected.push(id)
    }
    assert.deepEqual(await idsOf(store, {}), expected)
  },

  async "finds questions by run, workflow, assignee and outcome, alone and together"(store) {
    const all = await hundredQuestions(store)
    const runIds = [undefined, "run 1", "run 3", "unknown"]
    const workflows = [undefined, "even", "unknown"]
    const people = [undefined, "anna", "unknown"]
    const outcomeSets = [undefined, ["open"], ["answered"], ["withdrawn", "expired"], ANY] as const
    for (const runId of runIds) {
      for (const workflow of workflows) {
        for (const to of people) {
          for (const outcome of outcomeSets) {
            const expected = all.filter(
              (one) =>
                (runId === undefined || one.runId === runId) &&
                (workflow === undefined || one.workflow === workflow) &&
                (to === undefined || one.to === to) &&
                (outcome ?? ["open"]).includes(one.outcome as "open"),
            )
            const found = await store.requests({ runId, workflow, to, outcome })
            assert.deepEqual(found.map(requestName), expected.map(requestName))
          }
        }
      }
    }
  },

  async "returns questions in pages of any size, each once"(store) {
    const all = await hundredQuestions(store)
    for (const filter of [{ outcome: ANY }, {}, { to: "anna", outcome: ANY }, { workflow: "even" }]) {
      const whole = (await store.requests(filter)).map(requestName)
      for (const limit of [1, 7, 100, 1_000]) {
        assert.deepEqual(await pages(store, { ...filter, limit }), whole)
      }
      assert.ok(whole.length > 0 && whole.length <= all.length)
    }
  },

  async "continues after a question that was closed since the previous page"(store) {
    const opened = ["a", "b", "c", "d", "e"].map((id) => request(id))
    const lease = await start(store, "r", { change: { opened } })
    const seen: string[] = []
    let after: RequestQuery["after"]
    for (;;) {
      const page = await store.requests({ limit: 2, after })
      if (page.length === 0) break
      assert.ok(seen.length < 5, "no page repeats a question")
      for (const { id } of page) {
        seen.push(id)
        await write(store, lease, { closed: [{ id, outcome: "answered", at: START }] })
      }
      const last = page.at(-1)
      after = last && { runId: last.runId, id: last.id }
    }
    assert.deepEqual(seen, ["a", "b", "c", "d", "e"])
  },

  async "removes a run's questions with the run"(store) {
    await startAndEnd(store, "gone", { change: { opened: [request("q")] } })
    await start(store, "kept", { change: { opened: [request("q")] } })
    await store.remove("gone")
    const left = await store.requests({ outcome: ANY })
    assert.deepEqual(left.map(requestName), ["kept q"])
  },
}

function requestName({ runId, id }: { runId: string; id: string }): string {
  return `${runId} ${id}`
}

async function idsOf(store: Store, query: RequestQuery): Promise<string[]> {
  return (await store.requests(query)).map(({ id }) => id)
}

async function outcomes(store: Store): Promise<{ [id: string]: string }> {
  const all = await store.requests({ outcome: ANY })
  return Object.fromEntries(all.map(({ id, outcome }) => [id, outcome]))
}

async function pages(store: Store, query: RequestQuery): Promise<string[]> {
  const seen: string[] = []
  let after: RequestQuery["after"]
  for (;;) {
    const page = await store.requests({ ...query, after })
    const last = page.at(-1)
    if (last === undefined) return seen
    assert.ok(page.length <= (query.limit ?? 0))
    seen.push(...page.map(requestName))
    assert.equal(new Set(seen).size, seen.length, "no page repeats a question")
    after = { runId: last.runId, id: last.id }
  }
}

/** 100 questions of every outcome, of five runs that have the same ids; oldest first. */
async function hundredQuestions(
  store: Store,
): Promise<{ runId: string; id: string; workflow: string; to?: string; outcome: string }[]> {
  const leases = []
  for (let i = 0; i < 5; i++)
    leases.push(await start(store, `run ${i}`, { workflow: i % 2 === 0 ? "even" : "odd" }))
  const all = []
  for (let i = 0; i < 100; i++) {
    const lease = leases[i % 5]
    assert.ok(lease)
    const outcome = ANY[Math.floor(i / 5) % 4] as Exclude<StoredRequest["outcome"], "delivering">
    const to = i % 3 === 0 ? { to: "anna" } : i % 3 === 1 ? { to: "ben" } : {}
    const id = `q${Math.floor(i / 5)}`
    await write(store, lease, {
      opened: [request(id, { ...to, openedAt: START + i })],
      ...(outcome === "open" ? {} : { closed: [{ id, outcome, at: START + i }] }),
    })
    all.push({ runId: lease.runId, id, workflow: (i % 5) % 2 === 0 ? "even" : "odd", ...to, outcome })
  }
  return all
}

const REFUSED = { code: "NOT_OPEN", message: "It is not open." }

/** Mail to the holder of a run. It is delivered in order until it has an outcome; the outcome is returned once. */
export const mailCases: StoreCases = {
  async "returns a holder's mail in the order in which it was posted"(store) {
    await start(store, "a", { holder: "me" })
    await start(store, "b", { holder: "me" })
    await start(store, "c", { holder: "other" })
    // Ids and times have the opposite order: neither determines the order.
    const ids = ["9", "8", "7", "6", "5", "4"]
    for (const [i, id] of ids.entries()) {
      await store.post(mailTo(["a", "b", "c"][i % 3] as string, id, { at: START - i }))
    }
    assert.deepEqual(await mailIds(store, "me"), ["9", "8", "6", "5"])
    assert.deepEqual(await mailIds(store, "other"), ["7", "4"])
    assert.deepEqual(await mailIds(store, "nobody"), [])
  },

  async "lists a request as delivering while an answer to it is in the mail, and reopens it when that is rejected"(
    store,
  ) {
    const lease = await start(store, "r", { change: { opened: [request("q"), request("other")] } })
    const command: Mail["command"] = { type: "answer", request: "q", value: true }
    await store.post(mailTo("r", "one", { command }))
    const ids = async (outcome: readonly StoredRequest["outcome"][]) =>
      (await store.requests({ runId: "r", outcome })).map(({ id }) => id)
    assert.deepEqual(await ids(["open"]), ["other"])
    assert.deepEqual(await ids(["delivering"]), ["q"])
    await store.refuseMail({ ...lease, token: lease.token - 1 }, "one", REFUSED)
    assert.deepEqual(await ids(["delivering"]), ["q"])
    await store.refuseMail(lease, "one", REFUSED)
    assert.deepEqual(await ids(["open"]), ["q", "other"])
    // A rejection does not reopen a request that was answered since.
    await store.post(mailTo("r", "two", { command }))
    const { seq } = await runOf(store, "r")
    await store.append(lease, seq, records(seq + 1, 1), {
      closed: [{ id: "q", outcome: "answered", at: START }],
    })
    await store.refuseMail(lease, "two", REFUSED)
    assert.deepEqual(await ids(["answered"]), ["q"])
    await store.post(mailTo("r", "three", { command: { ...command, request: "other" } }))
    await store.append(lease, seq + 1, records(seq + 2, 1), { status: "completed" })
    assert.deepEqual(await ids(["withdrawn"]), ["other"])
  },

  async "keeps mail as it was posted"(store) {
    await start(store, "r")
    const commands: Mail["command"][] = [
      { type: "cancel" },
      { type: "cancel", reason: "no longer needed" },
      { type: "answer", request: "q", value: true, by: "anna" },
      { type: "signal", id: "s", name: "paid", value: { usd: 1 } },
      { type: "signal", id: "s", name: "paid", value: null, isAccepted: true },
      ...VALUES.map((value) => ({ type: "answer" as const, request: "q", value })),
    ]
    const posted = commands.map((command, i) => mailTo("r", `${i}`, { command, at: START + i }))
    for (const mail of posted) await store.post(mail)
    assert.deepEqual(plain(await store.mail("holder")), posted)
  },

  async "counts the mail of a run that has no outcome"(store) {
    const lease = await start(store, "r")
    await start(store, "other")
    assert.deepEqual(plain(await store.mailAmount("r")), { count: 0, bytes: 0 })
    const signal = { type: "signal", id: "s", name: "go", value: "x".repeat(1_000) } as const
    for (const id of ["one", "two", "three"]) await store.post(mailTo("r", id, { command: signal }))
    await store.post(mailTo("other", "four"))
    const { count, bytes } = await store.mailAmount("r")
    assert.equal(count, 3)
    // As they are stored, which may be encrypted.
    assert.ok(bytes > 3_000 && bytes < 5_000, `${bytes} bytes`)
    await write(store, lease, { mail: ["one"] })
    await store.refuseMail(lease, "two", REFUSED)
    assert.equal((await store.mailAmount("r")).count, 1)
    assert.equal((await store.mailAmount("unknown")).count, 0)
  },

  async "returns mail again until it has an outcome"(store) {
    await start(store, "r")
    await store.post(mailTo("r", "one"))
    await store.post(mailTo("r", "two"))
    assert.deepEqual(await mailIds(store, "holder"), ["one", "two"])
    assert.deepEqual(await mailIds(store, "holder"), ["one", "two"])
    await store.refuseMail(leaseOf("r"), "one", REFUSED)
    assert.deepEqual(await mailIds(store, "holder"), ["two"])
    await store.mailOutcome("one")
    assert.deepEqual(await mailIds(store, "holder"), ["two"])
  },

  async "returns the outcome of mail once, and nothing while there is none"(store) {
    const lease = await start(store, "r")
    const outcomes: [MailOutcome, (id: string) => unknown][] = [
      [{ ok: true }, (id) => write(store, lease, { mail: [id] })],
      [{ ok: false, ...REFUSED }, (id) => store.refuseMail(lease, id, REFUSED)],
    ]
    for (const [i, [outcome, settle]] of outcomes.entries()) {
      const id = `mail ${i}`
      assert.equal(await store.mailOutcome(id), undefined)
      await store.post(mailTo("r", id))
      assert.equal(await store.mailOutcome(id), undefined)
      await settle(id)
      assert.deepEqual(await store.mailOutcome(id), outcome)
      assert.equal(await store.mailOutcome(id), undefined)
    }
  },

  async "settles mail with the records that carry it out, all or none"(store) {
    const old = await start(store, "r", { holder: "first" })
    await store.post(mailTo("r", "mail"))
    const now = await take(store, "r", "second")
    await rejects(() => store.append(old, 1, records(2, 1), { mail: ["mail"] }), "RUN_TAKEN")
    assert.equal(await store.mailOutcome("mail"), undefined)
    assert.deepEqual(await mailIds(store, "second"), ["mail"])
    await store.append(now, 1, records(2, 1), { mail: ["mail", "never posted"] })
    assert.deepEqual(await mailIds(store, "second"), [])
    assert.deepEqual(await store.mailOutcome("mail"), { ok: true })
  },

  async "ignores the rejection of mail with an outdated lease, or of settled mail"(store) {
    const old = await start(store, "r", { holder: "first" })
    await store.post(mailTo("r", "mail"))
    const now = await take(store, "r", "second")
    await store.refuseMail(old, "mail", REFUSED)
    assert.equal(await store.mailOutcome("mail"), undefined)
    await write(store, now, { mail: ["mail"] })
    await store.refuseMail(now, "mail", REFUSED)
    assert.deepEqual(await store.mailOutcome("mail"), { ok: true })
  },

  async "returns an outcome to one of many concurrent readers"(store) {
    const lease = await start(store, "r")
    await store.post(mailTo("r", "mail"))
    await write(store, lease, { mail: ["mail"] })
    const taken = await Promise.all(Array.from({ length: 10 }, async () => store.mailOutcome("mail")))
    assert.deepEqual(plain(taken.filter((outcome) => outcome !== undefined)), [{ ok: true }])
  },

  async "returns the mail of a run to its current holder"(store) {
    const first = await start(store, "r", { holder: "first" })
    await store.post(mailTo("r", "mail"))
    await take(store, "r", "second")
    assert.deepEqual(await mailIds(store, "first"), [])
    assert.deepEqual(await mailIds(store, "second"), ["mail"])
    await store.release({ ...first, holder: "second", token: 2 }, undefined)
    assert.deepEqual(await mailIds(store, "second"), [])
    await take(store, "r", "third")
    assert.deepEqual(await mailIds(store, "third"), ["mail"])
  },

  async "keeps mail to an unheld run for its next holder"(store) {
    await store.release(await start(store, "r", { change: { status: "waiting" } }), undefined)
    await store.post(mailTo("r", "one"))
    await store.post(mailTo("r", "two"))
    await take(store, "r", "me")
    assert.deepEqual(await mailIds(store, "me"), ["one", "two"])
  },

  async "returns no mail to a run that has ended"(store) {
    await end(store, await start(store, "r"))
    await store.post(mailTo("r", "mail"))
    assert.deepEqual(await mailIds(store, "holder"), [])
    const free = await store.free({ workflows: ["workflow"], now: START, limit: 10, suspects: false })
    assert.deepEqual(free, [])
  },

  async "accepts mail to an unknown run, and outcomes of unknown mail"(store) {
    await store.post(mailTo("unknown", "mail"))
    await store.refuseMail(leaseOf("unknown"), "mail", REFUSED)
    assert.deepEqual(await store.mail("holder"), [])
    assert.equal(await store.mailOutcome("mail"), undefined)
  },
}

async function mailIds(store: Store, holder: string): Promise<string[]> {
  return (await store.mail(holder)).map((mail) => mail.id)
}
