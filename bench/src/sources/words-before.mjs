// How sources were chosen before there were profiles: the words of the question in the names of tables and columns. Without
// any match, the documents.

const stopWords = new Set(
  `a about after all also an and any are as at be because been before but by can could did do does for from had has have he her
  him his how i if in into is it its just me more most my no not of on or our out over she should so some such than that the
  their them then there these they this those to under up us was we were what when where which while who whom why will with
  would you your above again am being below between both doing down during each few find further get give having here hers let
  list many much need nor now off once only other own per please s same show t tell through too until very want whose`.split(
    /\s+/,
  ),
)

const split = (text) =>
  (
    text
      .toLowerCase()
      .replace(/['’]s\b/g, "")
      .match(/[a-z0-9]+/g) ?? []
  ).map(singular)
const singular = (word) => {
  if (word.length < 4 || /(?:ss|us|is)$/.test(word)) return word
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`
  if (/(?:ss|sh|ch|x|zz)es$/.test(word)) return word.slice(0, -2)
  return word.endsWith("s") ? word.slice(0, -1) : word
}

const isPart = (one, other) => {
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  return short.length >= 4 && long.includes(short)
}

function matches(goal, name, [phrase, word, part]) {
  const own = split(name)
  const telling = own.filter((one) => !stopWords.has(one))
  const start = goal.findIndex((_, at) => telling.every((one, i) => goal[at + i] === one))
  const found = telling.length > 1 && start >= 0 ? telling.map((one) => [one, phrase]) : []
  for (const one of own) {
    for (const other of goal) {
      if (other === one) found.push([other, word])
      else if (isPart(other, one)) found.push([other, part])
    }
  }
  return found
}

function scoreOf(goal, tables) {
  const best = new Map()
  for (const table of tables) {
    const found = [
      ...matches(goal, table.name, [10, 5, 2]),
      ...table.columns.flatMap((column) => matches(goal, column.name, [7, 3, 1])),
    ]
    for (const [word, weight] of found) best.set(word, Math.max(weight, best.get(word) ?? 0))
  }
  return [...best.values()].reduce((sum, weight) => sum + weight, 0)
}

/** The kind of the source; of equal ones the database. */
export async function chooseByNames(question, { database, files }) {
  const goal = split(question).filter((word) => !stopWords.has(word))
  const scores = [scoreOf(goal, await database.schema()), scoreOf(goal, await files.schema())]
  if (Math.max(...scores) === 0) return "documents"
  return scores[1] > scores[0] ? "files" : "database"
}
