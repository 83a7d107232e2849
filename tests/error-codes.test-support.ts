/** Every error code in the sources of the packages, by where it is passed: read from the syntax, whatever the file. */
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import ts from "typescript"

const packages = resolve(import.meta.dirname, "../packages")

/** `AAA_BBB` anywhere is a code, unless it is known to be something else. */
const COMPOUND = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/
/** A single word is a code only where a code is passed. */
const WORD = /^[A-Z]{4,}$/
/** `HTTP_${status}` */
const PREFIX = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_$/

/** Most files have neither a code nor a function that takes one, and need not be parsed. */
const MAY_MATTER = /["'`][A-Z][A-Z0-9_]{3,}|\(\s*code\b/

export interface CodeSite {
  readonly code: string
  /** For messages: `engine/src/core/errors.ts:12`. */
  readonly at: string
  /** False: the code is compared with, or listed; it comes from another place. */
  readonly isMade: boolean
  /** False: the error says that another attempt does not help. Undefined: the place does not show it. */
  readonly retryable: boolean | undefined
}

export function codeSites(): CodeSite[] {
  const files = readdirSync(packages).flatMap((name) => sourceFiles(name))
  const shared = new Map(
    files.flatMap(({ tree }) => codeHelpers(tree).filter((one) => one.isExported)).map(named),
  )
  return files.flatMap(({ name, tree }) => {
    const own = new Map(codeHelpers(tree).map(named))
    return sitesIn(name, tree, (helper) => own.get(helper) ?? shared.get(helper))
  })
}

function sourceFiles(name: string) {
  const folder = join(packages, name, "src")
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/\.test(?:-support)?\.ts$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(folder, file), "utf8")
      if (!MAY_MATTER.test(text)) return []
      return {
        name: `${name}/src/${file}`,
        tree: ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true),
      }
    })
}

/** A function that takes the code first, such as `terminalError(code, message)`. */
interface CodeHelper {
  readonly name: string
  readonly isExported: boolean
  /** It says that no attempt helps, whatever else it is called with. */
  readonly isTerminal: boolean
}

function named(helper: CodeHelper): [string, CodeHelper] {
  return [helper.name, helper]
}

function codeHelpers(tree: ts.SourceFile): CodeHelper[] {
  return tree.statements.flatMap((statement) => {
    if (!ts.isFunctionDeclaration(statement) || statement.name === undefined) return []
    const [first] = statement.parameters
    if (first?.name.getText() !== "code") return []
    const isExported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
    const isTerminal = /retryable: false/.test(statement.getText()) || isForwarded(statement)
    return [{ name: statement.name.text, isExported, isTerminal }]
  })
}

function isForwarded(helper: ts.FunctionDeclaration): boolean {
  return /\bterminalError\(\s*code\b/.test(helper.getText())
}

type FindHelper = (name: string) => CodeHelper | undefined

function sitesIn(file: string, tree: ts.SourceFile, helper: FindHelper): CodeSite[] {
  const sites: CodeSite[] = []
  const visit = (node: ts.Node): void => {
    const code = codeIn(node, helper)
    if (code !== undefined) {
      const { line } = tree.getLineAndCharacterOfPosition(node.getStart())
      const isMade = !isLookedFor(node)
      sites.push({
        code,
        at: `${file}:${line + 1}`,
        isMade,
        retryable: isMade ? retryableAt(node, helper) : undefined,
      })
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return sites
}

function codeIn(node: ts.Node, helper: FindHelper): string | undefined {
  if (ts.isTemplateExpression(node)) return PREFIX.test(node.head.text) ? `${node.head.text}*` : undefined
  if (!ts.isStringLiteralLike(node)) return undefined
  const { text } = node
  return COMPOUND.test(text) || (WORD.test(text) && isPassedAsCode(node, helper)) ? text : undefined
}

/** `x ? "A" : "B"` and `x ?? "A"` stand for the values in them. */
function around(node: ts.Node): ts.Node {
  const { parent } = node
  const isChoice =
    (ts.isConditionalExpression(parent) && parent.condition !== node) ||
    (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
  return isChoice ? around(parent) : node
}

function isPassedAsCode(node: ts.Node, helper: FindHelper): boolean {
  const value = around(node)
  const { parent } = value
  if (ts.isPropertyAssignment(parent)) return parent.name.getText() === "code"
  if (!isCall(parent) || parent.arguments?.[0] !== value) return false
  const name = calledName(parent)
  return isErrorClass(parent) || name === "error" || name === "warning" || helper(name) !== undefined
}

function isLookedFor(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isCaseClause(parent) || ts.isLiteralTypeNode(parent)) return true
  if (ts.isBinaryExpression(parent)) return parent.operatorToken.getText().endsWith("==")
  if (ts.isArrayLiteralExpression(parent)) return ts.isNewExpression(parent.parent)
  return ts.isCallExpression(parent) && calledName(parent) === "isSuperstepError"
}

function retryableAt(node: ts.Node, helper: FindHelper): boolean | undefined {
  const value = around(node)
  const { parent } = value
  if (ts.isPropertyAssignment(parent)) return inData(parent.parent)
  if (!isCall(parent) || parent.arguments?.[0] !== value) return undefined
  if (isErrorClass(parent)) return inOptions(parent.arguments[2])
  const found = helper(calledName(parent))
  if (found === undefined) return undefined
  if (found.isTerminal) return false
  const flag = parent.arguments.find(({ kind }) => isBoolean(kind))
  return flag === undefined ? undefined : flag.kind === ts.SyntaxKind.TrueKeyword
}

/** An error as data: `{ code, message, retryable }`. */
function inData(data: ts.Node): boolean | undefined {
  return /\bretryable: false\b/.test(data.getText()) ? false : undefined
}

/** Without the option, a retry policy decides. */
function inOptions(options: ts.Expression | undefined): boolean {
  return options === undefined || !/\b(?:retryable: false|limit: true|fatal: true)\b/.test(options.getText())
}

function isBoolean(kind: ts.SyntaxKind): boolean {
  return kind === ts.SyntaxKind.TrueKeyword || kind === ts.SyntaxKind.FalseKeyword
}

function isCall(node: ts.Node): node is ts.CallExpression | ts.NewExpression {
  return ts.isCallExpression(node) || ts.isNewExpression(node)
}

/** `this.#report.error(…)` is `error`. */
function calledName({ expression }: ts.CallExpression | ts.NewExpression): string {
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText()
}

function isErrorClass(call: ts.CallExpression | ts.NewExpression): boolean {
  return calledName(call) === "SuperstepError" || call.expression.kind === ts.SyntaxKind.SuperKeyword
}
