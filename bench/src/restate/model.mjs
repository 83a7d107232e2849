// A discrete simulation of a deployment: runs wait, wake up, execute a few steps, and wait again. Every visit of a run passes
// stations in order, each with so many servers and a service time; what is busy all the time breaks first.

/** Numbers that are the same every time. */
function random(seed) {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state + 1) / 4_294_967_297
  }
}

/** A station with `servers`: a job waits for the one that is free first. Times are in milliseconds. */
class Station {
  #free
  busy = 0
  waited = 0
  jobs = 0

  /** What comes before `from` is not counted. */
  constructor(name, servers, from) {
    this.name = name
    this.from = from
    // A heap of the times at which the servers are free.
    this.#free = new Float64Array(servers)
  }

  /** When a job that arrives at `now` and takes `service` is done. */
  pass(now, service) {
    const start = Math.max(now, this.#free[0])
    if (now >= this.from) {
      this.waited += start - now
      this.busy += service
      this.jobs++
    }
    this.#replaceFirst(start + service)
    return start + service
  }

  #replaceFirst(time) {
    const heap = this.#free
    let at = 0
    for (;;) {
      let least = 2 * at + 1
      if (least >= heap.length) break
      if (least + 1 < heap.length && heap[least + 1] < heap[least]) least++
      if (heap[least] >= time) break
      heap[at] = heap[least]
      at = least
    }
    heap[at] = time
  }

  result(span) {
    return {
      station: this.name,
      servers: this.#free.length,
      utilization: this.busy / (span * this.#free.length),
      wait: this.jobs === 0 ? 0 : this.waited / this.jobs,
    }
  }
}

/**
 * @param plan
 *   `visitsPerSecond`  how often a run wakes up, over all runs
 *   `stepsPerVisit`    recorded steps until the run waits again
 *   `stepMs`           what a step itself takes: a model's answer
 *   `cores`            processors of `restate`, `workers`, and of each of the `shards` of PostgreSQL
 * @param service measured: milliseconds of processor time of `activation` (Restate), `visit` and `step` (a worker), `visitWrite`
 *   and `stepWrite` (PostgreSQL)
 * @returns the stations, how long a visit takes beyond its steps, and how many runs execute at a time
 */
export function simulate(plan, service, { seconds = 10, seed = 1 } = {}) {
  const next = random(seed)
  const around = (mean) => -mean * Math.log(next())
  // The first part fills the stations, and does not count.
  const [warm, span] = [seconds * 500, seconds * 1_000]
  const restate = new Station("Restate", plan.cores.restate, warm)
  const workers = new Station("workers", plan.cores.workers, warm)
  const shards = Array.from(
    { length: plan.shards },
    (_, i) => new Station(`PostgreSQL ${i + 1}`, plan.cores.postgres, warm),
  )
  const gap = 1_000 / plan.visitsPerSecond
  const beyond = []
  let executing = 0
  let steps = 0
  const events = new Heap()
  for (let at = around(gap); at < span; at += around(gap)) {
    events.push({ at, kind: "arrive", shard: shards[Math.floor(next() * shards.length)], began: at })
  }
  for (let event = events.pop(); event !== undefined && event.at < span; event = events.pop()) {
    const { kind, shard, began } = event
    const go = (to, at, more = {}) => events.push({ ...event, ...more, kind: to, at })
    // A job joins a station when its time has come, never before.
    if (kind === "arrive") go("claim", restate.pass(event.at, around(service.activation)))
    else if (kind === "claim") go("load", shard.pass(event.at, around(service.visitWrite)))
    else if (kind === "load") {
      const loaded = workers.pass(event.at, around(service.visit))
      go("step", loaded, { left: plan.stepsPerVisit, own: 0 })
    } else if (kind === "step" && event.left > 0) {
      const own = around(plan.stepMs)
      go("return", event.at + own, { left: event.left - 1, own: event.own + own })
    } else if (kind === "return") go("write", workers.pass(event.at, around(service.step)))
    else if (kind === "write") {
      if (event.at >= warm) steps++
      go("step", shard.pass(event.at, around(service.stepWrite)))
    } else {
      if (event.at < warm) continue
      executing += event.at - began
      beyond.push(event.at - began - event.own)
    }
  }
  beyond.sort((a, b) => a - b)
  const all = [restate, workers, ...shards].map((station) => station.result(span - warm))
  const busiest =
    shards.length === 0 ? [] : [all.slice(2).reduce((a, b) => (a.utilization > b.utilization ? a : b))]
  return {
    stations: [all[0], all[1], ...busiest],
    stepsPerSecond: (steps * 1_000) / (span - warm),
    executing: executing / (span - warm),
    p50: beyond[Math.floor(beyond.length / 2)],
    p99: beyond[Math.floor(beyond.length * 0.99)],
  }
}

/** Events by time. */
class Heap {
  #items = []
  push(item) {
    const items = this.#items
    let at = items.push(item) - 1
    while (at > 0) {
      const up = (at - 1) >> 1
      if (items[up].at <= item.at) break
      items[at] = items[up]
      at = up
    }
    items[at] = item
  }
  pop() {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (items.length === 0) return first
    let at = 0
    for (;;) {
      let least = 2 * at + 1
      if (least >= items.length) break
      if (least + 1 < items.length && items[least + 1].at < items[least].at) least++
      if (items[least].at >= last.at) break
      items[at] = items[least]
      at = least
    }
    items[at] = last
    return first
  }
}
