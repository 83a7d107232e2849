/**
 * One definition being loaded, with the files it includes: all into one plan, all problems into one report. A file is
 * compiled once, however often it is included; one that includes itself is refused.
 */
import { basename, dirname, extname, isAbsolute, join, normalize, resolve } from "node:path"
import { isSuperstepError, type Json } from "../core/index.ts"
import { fileError, insideFolder, outsideFolder, readTextFile } from "../files/index.ts"
import { planAgents } from "./agents/index.ts"
import type { Dialect, LoadOptions } from "./definition.ts"
import { DefinitionPaths } from "./definition-paths.ts"
import { type Document, type Place, parseDocument, Report, readShape } from "./document/index.ts"
import { planGraph } from "./graph/index.ts"
import { PlanWriter, type Ref } from "./plan/index.ts"
import { planSteps, stepsShape } from "./steps/index.ts"
import { checkTrust } from "./trust/index.ts"

/** Bytes of the file that a user names. */
const MAX_DEFINITION = 10_000_000
/** Bytes of a file that a definition names. */
const MAX_INCLUDED = 1_000_000

export interface LoadedFile {
  readonly document: Document
  readonly dialect: Dialect
  readonly name: string
  readonly ref: Ref
}

export class Loading {
  readonly report = new Report()
  readonly sources = new Map<string, string>()
  readonly writer: PlanWriter
  /** Of the first file, once that is known. */
  dialect: Dialect | undefined
  readonly #options: LoadOptions
  /** Of the first file. */
  #paths: DefinitionPaths | undefined
  readonly #files = new Map<string, LoadedFile | undefined>()
  readonly #open: string[] = []

  constructor(options: LoadOptions, functions: Iterable<string>) {
    this.#options = options
    this.writer = new PlanWriter(functions)
  }

  /** Undefined when it cannot be loaded; why is in the report, at the place that named the file. */
  file(file: string, named?: Place, given?: string): LoadedFile | undefined {
    const path = normalize(file)
    this.#paths ??= new DefinitionPaths(path, this.report, this.#options.cwd, this.#options.trust)
    if (this.#open.includes(path)) {
      const way = [...this.#open.slice(this.#open.indexOf(path)), path].map((one) => basename(one))
      this.report.error("INCLUDE_CYCLE", `The file includes itself: ${way.join(" → ")}.`, named)
      return undefined
    }
    if (this.#files.has(path)) return this.#files.get(path)
    this.#open.push(path)
    const document = this.#document(path, named, given)
    const loaded = document === undefined ? undefined : this.#compile(document)
    this.#open.pop()
    this.#files.set(path, loaded)
    return loaded
  }

  /** Its text is kept, to show where a problem is. `named` is where a definition names it: it is held to its folder. */
  #document(path: string, named?: Place, given?: string): Document | undefined {
    const text = given ?? this.#read(path, named)
    if (text === undefined) return undefined
    this.sources.set(path, text)
    const { document, diagnostics } = parseDocument(text, path)
    this.report.add(diagnostics)
    const { trust, cwd } = this.#options
    if (document !== undefined && trust === "none")
      checkTrust(document, this.#paths as DefinitionPaths, this.report, cwd)
    return document
  }

  #read(path: string, named: Place | undefined): string | undefined {
    const { read, cwd = "" } = this.#options
    const folder = named && this.#paths?.rootOf(named.file)
    try {
      if (folder !== undefined && insideFolder(folder, resolve(cwd, path)) === undefined)
        throw outsideFolder(path)
      const maxBytes = named === undefined ? MAX_DEFINITION : MAX_INCLUDED
      return read?.(path) ?? readTextFile(path, { maxBytes, folder, cwd })
    } catch (error) {
      const { code, message } = isSuperstepError(error) ? error : fileError(path, error)
      this.report.error(code, message, named)
      return undefined
    }
  }

  #compile(document: Document): LoadedFile | undefined {
    const dialect = dialectOf(document.data)
    if (dialect === undefined) {
      const wanted = "agents with a `workflow`, or a graph with `nodes` and `edges`"
      this.report.error("DIALECT_UNKNOWN", `This is no definition: write ${wanted}.`, document.place([]))
      return undefined
    }
    this.dialect ??= dialect
    const input = {
      document,
      report: this.report,
      writer: this.writer,
      options: this.#options,
      paths: this.#paths as DefinitionPaths,
      include: (file: string, place: Place) => this.file(beside(document.file, file), place)?.ref,
      read: (file: string, place?: Place) => this.#document(normalize(file), place),
    }
    const ref =
      dialect === "steps"
        ? planSteps(input)
        : dialect === "graph"
          ? planGraph(input)
          : this.#agentsOnly(document)
    return ref === undefined ? undefined : { document, dialect, name: nameOf(document), ref }
  }

  /** A file with agents and no workflow: one of them is talked to. */
  #agentsOnly(document: Document): Ref | undefined {
    const { value, diagnostics } = readShape(document, stepsShape)
    this.report.add(diagnostics)
    if (value === undefined) return undefined
    const { agents = {}, models, providers, permissions } = value
    const [first] = Object.keys(agents)
    const main = Object.hasOwn(agents, "root") ? "root" : first
    if (main === undefined) {
      this.report.error("NO_AGENTS", "There is no agent in `agents`.", document.place(["agents"]))
      return undefined
    }
    const planned = planAgents({
      document,
      agents,
      models,
      providers,
      permissions,
      report: this.report,
      writer: this.writer,
      lasting: main,
      paths: this.#paths,
    })
    return planned.get(main)?.ref
  }
}

/** By its shape. */
function dialectOf(data: Json): Dialect | undefined {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return undefined
  if (Object.hasOwn(data, "nodes") || Object.hasOwn(data, "entrypointNodeId")) return "graph"
  if (Object.hasOwn(data, "workflow")) return "steps"
  return Object.hasOwn(data, "agents") ? "agents" : undefined
}

function nameOf({ data, file }: Document): string {
  const { id, name } = data as { readonly id?: Json; readonly name?: Json }
  for (const one of [id, name]) if (typeof one === "string" && one !== "") return one
  return basename(file, extname(file))
}

function beside(path: string, file: string): string {
  return isAbsolute(file) ? file : join(dirname(path), file)
}
