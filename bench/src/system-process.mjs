// The parent's side of requests.mjs: starts the process, asks it one thing at a time, ends it.
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { measuredEnvironment } from "./environment.mjs"

const engineWorker = new URL("./worker.mjs", import.meta.url)

/** The process did not answer in time. It is gone then; the next request starts a new one. */
export class TimeLimitError extends Error {}

/**
 * One system's process. Started at the first request. Flags given to the command, such as --cpu-prof,
 * are given to it too.
 */
export function systemProcess(name, worker = engineWorker) {
  let child

  function start() {
    child = fork(fileURLToPath(worker), [name], {
      env: measuredEnvironment,
      execArgv: [...process.execArgv, "--expose-gc", "--no-warnings"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    })
    return answerOf(child, 60_000)
  }

  async function ask(request, options, limitMs = 120_000) {
    if (child === undefined) await start()
    child.send({ request, options })
    try {
      return await answerOf(child, limitMs)
    } catch (error) {
      if (error instanceof TimeLimitError) stop()
      throw error
    }
  }

  function stop() {
    child?.kill("SIGKILL")
    child = undefined
  }

  async function close() {
    if (child === undefined) return
    const exited = new Promise((resolve) => child.once("exit", resolve))
    child.send({ request: "close" })
    await exited
    child = undefined
  }

  return { name, ask, stop, close }

  function answerOf(asked, limitMs) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => done(reject, new TimeLimitError(`${name}: no answer in ${limitMs} ms`)),
        limitMs,
      )
      const onExit = (code, signal) => {
        child = undefined
        done(reject, new Error(`${name}: its process ended (${signal ?? code})`))
      }
      const onMessage = ({ value, error }) => {
        if (error === undefined) done(resolve, value)
        else done(reject, new Error(`${name}: ${error}`))
      }
      asked.on("message", onMessage)
      asked.on("exit", onExit)
      function done(settle, outcome) {
        clearTimeout(timer)
        asked.off("message", onMessage)
        asked.off("exit", onExit)
        settle(outcome)
      }
    })
  }
}
