/** Processes for crash tests, which run a bundled program. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { resolve } from "node:path"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"

const root = resolve(import.meta.dirname, "../..")

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A program with a job, which reports messages as lines of JSON. */
export class Process<Message> {
  readonly messages: Message[] = []
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #job: string
  readonly #ended: Promise<Ended>
  #complaint = ""
  #listeners = new Set<() => void>()
  #isOver = false

  constructor(program: string, job: object) {
    this.#job = JSON.stringify(job)
    this.#child = spawn(process.execPath, [program, this.#job], {
      cwd: root,
      stdio: ["pipe", "pipe", "pipe"],
    })
    this.#child.stderr.setEncoding("utf8").on("data", (text) => {
      this.#complaint += text
    })
    // The process may exit before it reads any input.
    this.#child.stdin.on("error", () => undefined)
    this.#ended = new Promise((resolve) =>
      this.#child.on("close", (code, signal) => {
        this.#isOver = true
        this.#notify()
        resolve({ code, signal })
      }),
    )
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      this.messages.push(JSON.parse(line) as Message)
      this.#notify()
    })
  }

  get pid(): number {
    return this.#child.pid as number
  }

  get isOver(): boolean {
    return this.#isOver
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }

  /** The first message, past or future, that matches. */
  async waitFor(matches: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.messages.find(matches)
      if (found !== undefined) return found
      if (this.#isOver)
        throw new Error(`${this.#job} ended after ${JSON.stringify(this.messages)}: ${this.#complaint}`)
      await new Promise<void>((resolve) => {
        const listener = () => {
          this.#listeners.delete(listener)
          resolve()
        }
        this.#listeners.add(listener)
      })
    }
  }

  send(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Rejects when it failed; a process that was killed did not. */
  async end(): Promise<Ended> {
    const ended = await this.#ended
    if (ended.signal !== "SIGKILL" && ended.code !== 0) {
      throw new Error(`${this.#job} ended with ${ended.code ?? ended.signal}: ${this.#complaint}`)
    }
    return ended
  }
}
