/** The filesystem tools that change something. Each asks a person unless `approval` allows it. */

import { rmdir } from "node:fs/promises"
import { join } from "node:path"
import { terminalError } from "../../core/internal.ts"
import type { Approval } from "../approval.ts"
import { namesGlob } from "../glob.ts"
import { plainEnvironment, runProcess } from "../shell/run-process.ts"
import { objectInput, type Tool, type ToolCallContext, tool } from "../tool.ts"
import { type ConfinedRoot, fileError, type LocatedPath } from "./confined-root.ts"
import { type Edit, editText, makeDirectory, writeBytes } from "./file.ts"

/** A command for files that were written, such as a formatter. */
export interface AfterEdit {
  /** A glob: `*.ts` matches names in any directory. */
  readonly path: string
  /** For `/bin/sh -c`, in the root. `$file` and `$path` are the file's path. */
  readonly cmd: string
  /** Milliseconds that it may take. Default 60,000. */
  readonly timeout?: number | undefined
}

export interface WriteToolsOptions {
  readonly root: ConfinedRoot
  readText(target: LocatedPath, shown: string): Promise<string>
  readonly maxBytes: number
  readonly approval: Approval
  readonly afterEdit: readonly AfterEdit[]
}

const TEXT = { type: "string" }
const PATH = { type: "string", description: "Relative to the root." }

export function writeTools({
  root,
  readText,
  maxBytes,
  approval,
  afterEdit,
}: WriteToolsOptions): readonly Tool[] {
  const inTurn = serializedByKey()
  const write = async (target: LocatedPath, text: string, call: ToolCallContext) => {
    const bytes = Buffer.from(text, "utf8")
    if (bytes.length > maxBytes) {
      const problem = `"${target.path}" would have ${bytes.length} bytes; the limit is ${maxBytes}.`
      throw terminalError("FILE_TOO_LARGE", problem)
    }
    const result = await writeBytes(root, target, bytes)
    const after = await runAfterEdit(root, target, afterEdit, call)
    return { path: target.path, result, bytes: bytes.length, ...(after.length > 0 && { after }) }
  }
  const replace_all = { type: "boolean", description: "Replaces every occurrence." }
  const edit = objectInput({ old_text: TEXT, new_text: TEXT, replace_all }, ["old_text", "new_text"])
  return [
    tool({
      name: "write_file",
      description: "Writes a whole file. Replaces an existing one, and creates missing directories.",
      input: objectInput({ path: PATH, content: TEXT }, ["path", "content"]),
      approval,
      idempotent: true,
      run: async ({ path, content }: { path: string; content: string }, call) => {
        const target = await root.locate(path)
        return inTurn(target.path, () => write(target, content, call))
      },
    }),
    tool({
      name: "edit_file",
      description: "Replaces pieces of text in a file. Every old_text must occur in the file exactly once.",
      input: objectInput({ path: PATH, edits: { type: "array", minItems: 1, items: edit.jsonSchema } }, [
        "path",
        "edits",
      ]),
      approval,
      run: async ({ path, edits }: { path: string; edits: readonly Edit[] }, call) => {
        const target = await root.locate(path)
        return inTurn(target.path, async () => {
          return write(target, editText(await readText(target, path), edits, path), call)
        })
      },
    }),
    tool({
      name: "create_directory",
      description: "Creates a directory, and the directories above it that are missing.",
      input: objectInput({ path: PATH }, ["path"]),
      approval,
      idempotent: true,
      run: async ({ path }: { path: string }) => {
        const target = await root.locate(path)
        await makeDirectory(root, target)
        return { path: target.path, result: "created" }
      },
    }),
    tool({
      name: "remove_directory",
      description: "Removes a directory that is empty.",
      input: objectInput({ path: PATH }, ["path"]),
      approval,
      run: async ({ path }: { path: string }) => {
        const target = await root.locate(path)
        await removeDirectory(root, target)
        return { path: target.path, result: "removed" }
      },
    }),
  ]
}

async function removeDirectory(root: ConfinedRoot, { path, parts }: LocatedPath): Promise<void> {
  const name = parts.at(-1)
  if (name === undefined) throw terminalError("PATH_DENIED", "The root itself cannot be removed.")
  const parent = await root.enter(parts.slice(0, -1))
  try {
    await rmdir(parent.at(name))
  } catch (error) {
    throw fileError(error, path)
  } finally {
    await parent.close()
  }
}

interface AfterEditResult {
  readonly cmd: string
  /** Null if it was stopped. */
  readonly code: number | null
  readonly output: string
}

const TIMEOUT = 60_000
/** Bytes of a command's output that the model sees. */
const OUTPUT = 4_000

/** The file is written whatever the commands do; the model sees how they ended. */
async function runAfterEdit(
  root: ConfinedRoot,
  { path, parts }: LocatedPath,
  commands: readonly AfterEdit[],
  { signal, ctx }: ToolCallContext,
): Promise<readonly AfterEditResult[]> {
  const results: AfterEditResult[] = []
  for (const { path: glob, cmd, timeout = TIMEOUT } of commands) {
    if (!namesGlob(glob)(path)) continue
    const cwd = await root.directory()
    const file = join(cwd, ...parts)
    const env = { ...plainEnvironment(), file, path: file }
    const shell = { command: "/bin/sh", args: ["-c", cmd] }
    const ended = await runProcess({
      ...shell,
      cwd,
      env,
      signal,
      timeout,
      maxOutput: OUTPUT,
      clock: ctx.clock,
    })
    const stopped = ended.stopped === "timeout" ? [`Stopped after ${timeout} ms.`] : []
    const output = [...stopped, ended.stdout.text(), ended.stderr.text()].filter((text) => text !== "")
    results.push({ cmd, code: ended.code, output: output.join("\n") })
  }
  return results
}

/** Serializes the writes to each file: two simultaneous edits must both be applied. */
function serializedByKey(): <T>(key: string, act: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return (key, act) => {
    const done = (last.get(key) ?? Promise.resolve()).then(act)
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (last.get(key) === settled) last.delete(key)
      })
    last.set(key, settled)
    return done
  }
}
