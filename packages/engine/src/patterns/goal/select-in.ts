/** The one SELECT in a model's answer; undefined where it wrote none. What the SQL may do is the database's business. */
export function selectIn(answer: string): string | undefined {
  const block = /```(?:[ \t]*(?:\w+[ \t]*)?\r?\n|sql[ \t]+)([\s\S]*?)```/i.exec(answer)?.[1] ?? answer
  const sql = block.trim().replace(/;\s*$/, "")
  return /^[(\s]*(?:select|with)\b/i.test(withoutComments(sql)) ? sql : undefined
}

function withoutComments(sql: string): string {
  return sql.replace(/^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/, "")
}
