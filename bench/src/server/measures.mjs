// What is measured of a server, over HTTP, from another process.
import { fork } from "node:child_process"
import { Agent, request } from "node:http"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import { expectAnswer } from "../answers.mjs"
import { makeFolder, removeFolder } from "../durable/folder.mjs"
import { measuredEnvironment } from "../environment.mjs"
import { median, pairedRatio } from "../statistics.mjs"

const script = fileURLToPath(new URL("./process.mjs", import.meta.url))
const now = () => performance.timeOrigin + performance.now()
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

/** A server in a new process. */
async function start(system, peers) {
  const folder = makeFolder()
  const child = fork(script, [system, join(folder, "bench.db"), ...(peers === undefined ? [] : [peers])], {
    env: measuredEnvironment,
    execArgv: [...process.execArgv, "--no-warnings", "--expose-gc"],
  })
  const ended = new Promise((resolve) => child.once("exit", resolve))
  const early = ended.then((code) => Promise.reject(new Error(`The server ${system} ended with ${code}`)))
  early.catch(() => {})
  const next = () => Promise.race([new Promise((resolve) => child.once("message", resolve)), early])
  const { port } = await next()
  return {
    url: `http://127.0.0.1:${port}`,
    /** Bytes of "memory", or microseconds of "cpu". */
    async usage(what) {
      const answer = next()
      child.send(what)
      return await answer
    },
    async stop() {
      child.disconnect()
      await ended
      removeFolder(folder)
    },
  }
}

/** `onChunk` gets the pieces of a stream, and returns true when it has enough. */
function send(url, method, body, headers = {}, onChunk = () => false) {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { agent, method, headers: { "content-type": "application/json", ...headers } },
      (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (chunk) => {
          text += chunk
          if (!onChunk(chunk)) return
          response.destroy()
          resolve(undefined)
        })
        response.on("end", () => resolve(text))
        response.on("error", reject)
      },
    )
    outgoing.on("error", reject)
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const post = async (url, body, headers) => JSON.parse(await send(url, "POST", body, headers))

/** How each system starts a workflow that does nothing, and answers with its result. */
const startAndWait = {
  hono: ({ url }) => post(`${url}/runs`, { input: 1 }),
  superstep: ({ url }) => post(`${url}/v1/workflows/noop/runs`, { input: 1 }),
  langgraph: ({ url }) => post(`${url}/runs/wait`, { assistant_id: "noop", input: { input: 1 } }),
  mastra: ({ url }) => post(`${url}/api/workflows/noop/start-async`, { inputData: { input: 1 } }),
}

/** Where each system has the output of the workflow. */
const outputIn = {
  hono: ({ outputs }) => outputs[0],
  superstep: ({ outputs }) => outputs[0],
  langgraph: ({ input }) => input,
  mastra: ({ result }) => result.input,
}

/** Milliseconds after which a round of a slow system ends with fewer requests: LangGraph's server takes half a second for one. */
const MAX_ROUND = 2_000

/** One request after the other, systems in turns, each in a process of its own. The first one is the limit. */
export async function requests({ rounds, requests: count, systems, peers }) {
  const entrants = []
  try {
    for (const system of systems) {
      const server = await start(system, peers)
      entrants.push({ system, server, wall: [], cpu: [] })
      expectAnswer(
        `${system}: output of the no-op workflow`,
        outputIn[system](await startAndWait[system](server)),
        1,
      )
    }
    // The first round warms up.
    for (let round = 0; round <= rounds; round++) {
      for (const { system, server, wall, cpu } of entrants) {
        const before = await server.usage("cpu")
        const begun = performance.now()
        let [made, elapsed] = [0, 0]
        while (made < count && elapsed < MAX_ROUND) {
          await startAndWait[system](server)
          made += 1
          elapsed = performance.now() - begun
        }
        const after = await server.usage("cpu")
        if (round === 0) continue
        wall.push((elapsed * 1_000) / made)
        cpu.push((after - before) / made)
      }
    }
  } finally {
    for (const { server } of entrants) await server.stop()
  }
  const [limit] = entrants
  return entrants.map(({ system, wall, cpu }) => ({
    system,
    wall: median(wall),
    cpu: median(cpu),
    wallRatio: pairedRatio(wall, limit.wall),
    cpuRatio: pairedRatio(cpu, limit.cpu),
  }))
}

/** One run with many watchers: memory of each, and how late its tokens are. */
export async function watchers({ watchers: count, tokens }) {
  const server = await start("superstep")
  try {
    const input = { tokens, pause: 20 }
    const { id } = await post(`${server.url}/v1/workflows/talk/runs`, { input })
    const before = await server.usage("memory")
    const late = []
    let ready = 0
    let open
    const isOpen = new Promise((resolve) => {
      open = resolve
    })
    const streams = Array.from({ length: count }, () => {
      let rest = ""
      let isFirst = true
      return send(`${server.url}/v1/runs/${id}/events`, "GET", undefined, {}, (chunk) => {
        if (isFirst && ++ready === count) open()
        isFirst = false
        const arrived = now()
        const frames = (rest + chunk).split("\n\n")
        rest = frames.pop()
        for (const frame of frames) {
          const at = /"name":"token","data":\{"at":([\d.]+)/.exec(frame)?.[1]
          if (at !== undefined) late.push(arrived - Number(at))
        }
        return false
      })
    })
    await isOpen
    const during = await server.usage("memory")
    const { requests: questions } = JSON.parse(await send(`${server.url}/v1/requests?run=${id}`, "GET"))
    await post(`${server.url}/v1/runs/${id}/requests/${questions[0].id}/answer`, { value: true })
    await Promise.all(streams)
    expectAnswer("tokens that arrived", late.length, count * tokens)
    return { watchers: count, bytes: (during - before) / count, ...quantiles(late) }
  } finally {
    await server.stop()
  }
}

/** From the request to the first byte of a stream. */
export async function firstByte({ requests: count }) {
  const server = await start("superstep")
  try {
    const { id } = await startAndWait.superstep(server)
    const times = []
    for (let i = 0; i < count; i++) {
      const begun = performance.now()
      await send(`${server.url}/v1/runs/${id}/events`, "GET", undefined, {}, () => true)
      times.push(performance.now() - begun)
    }
    return quantiles(times)
  } finally {
    await server.stop()
  }
}

/** Runs that wait for a person: memory of each, and what the server still does quickly. */
export async function waiting({ waiting: count }) {
  const server = await start("superstep")
  try {
    const before = await server.usage("memory")
    const begun = performance.now()
    let next = 0
    const startSome = async () => {
      while (next++ < count) await post(`${server.url}/v1/workflows/ask/runs`, { input: 1 })
    }
    await Promise.all(Array.from({ length: 16 }, startSome))
    const started = performance.now() - begun
    const after = await server.usage("memory")
    const times = async (work) => {
      const start = performance.now()
      const result = await work()
      return [result, performance.now() - start]
    }
    const [page, list] = await times(() => send(`${server.url}/v1/requests?limit=50`, "GET"))
    const [question] = JSON.parse(page).requests
    const [, answer] = await times(() =>
      post(`${server.url}/v1/runs/${question.run}/requests/${question.id}/answer`, { value: true }),
    )
    return { runs: count, start: started / count, bytes: (after - before) / count, list, answer }
  } finally {
    await server.stop()
  }
}

function quantiles(all) {
  const sorted = all.toSorted((a, b) => a - b)
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
  return { p50: at(0.5), p99: at(0.99) }
}
