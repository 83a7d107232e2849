/** Functions that a query calls, openly or by an attribute, an operator, a cast or a type: only those that are allowed run. */
import { describe, expect, test } from "vitest"
import { attackedBank, LIMITS } from "./attacked-bank.test-support.ts"
import { postgresDatabase } from "./postgres.ts"

const bank = attackedBank()

/** Functions of the database that are reached without a visible call, or under the name of another. */
const HIDDEN_CALLS: Record<string, string> = {
  "a call": "SELECT bonus(a) FROM accounts a",
  "a call in FROM": "SELECT * FROM accounts a, bonus(a)",
  "an attribute": "SELECT a.bonus FROM accounts a",
  "an attribute in a condition": "SELECT 1 FROM accounts a WHERE a.bonus > 0",
  "an attribute of a table with its schema": "SELECT public.accounts.bonus FROM accounts",
  "an attribute in brackets": 'SELECT (a)."bonus" FROM accounts a',
  "an attribute with a quoted name": 'SELECT a."Bonus" FROM accounts a',
  "an attribute with a comment": "SELECT a /* */ . /* */ bonus FROM accounts a",
  "an attribute of a subquery's row": "SELECT (x.a).bonus FROM (SELECT a FROM accounts a) x",
  "an attribute of a row of a lateral join": "SELECT x.b FROM accounts a, LATERAL (SELECT a.bonus AS b) x",
  "an attribute of a CTE's row": "WITH x AS (SELECT a FROM accounts a) SELECT (x.a).bonus FROM x",
  "an attribute of any row": "SELECT x.of_any_row FROM (SELECT 1) x",
  "an attribute of a string": "SELECT (a.name).of_text FROM accounts a",
  "an attribute called like a column": "SELECT (a.name).balance FROM accounts a",
  "an attribute of a constant": "SELECT ('x'::text).of_text",
  "an attribute that is a lock": "SELECT (1::bigint).pg_try_advisory_lock",
  "an attribute that reads a file": "SELECT ('/etc/passwd'::text).pg_read_file",
  "a function that lies about being IMMUTABLE": "SELECT liar()",
  "a lie that the planner would run": "SELECT 1 FROM accounts WHERE liar() = 1",
  "a function that lies about being STABLE": "SELECT 1 FROM accounts WHERE id < stable_liar()",
  "an operator": "SELECT a + 1 FROM accounts a",
  "an operator with its schema": "SELECT a OPERATOR(public.+) 1 FROM accounts a",
  "an operator on a row with a star": "SELECT (a.*) + 1 FROM accounts a",
  "an operator on a row by a cast": "SELECT ROW(1, 'x', 2)::accounts + 1",
  "an operator of built-in types": "SELECT point(1, 2) <%%> 'x'",
  "an operator on a string": "SELECT '(1,x,2)' !#! 1",
  "an operator on a string, with its schema": "SELECT '(1,x,2)' OPERATOR(public.+) 1",
  "an operator on two strings": "SELECT '(1,x,2)' !#! '1'",
  "an operator that is a lock": "SELECT @!@ 1::bigint",
  "an operator before its operand": "SELECT !!! 1",
  LIKE: "SELECT 1 FROM accounts a WHERE a LIKE 'x'",
  "NOT LIKE": "SELECT 1 FROM accounts a WHERE NOT a LIKE 'x'",
  IN: "SELECT 1 FROM accounts a WHERE a IN (1, 2)",
  "IN a subquery": "SELECT 1 FROM accounts a WHERE a IN (SELECT 1)",
  ANY: "SELECT 1 FROM accounts a WHERE a = ANY (ARRAY[1])",
  CASE: "SELECT CASE a WHEN 1 THEN 2 END FROM accounts a",
  NULLIF: "SELECT NULLIF(a, 1) FROM accounts a",
  "a cast": "SELECT a::int FROM accounts a",
  "a cast as CAST": "SELECT CAST(a AS integer) FROM accounts a",
  "an implicit cast": "SELECT upper(feeling) FROM feelings",
  "a cast to a type of the database": "SELECT 1::mood",
  "a cast of arrays": "SELECT ARRAY[1, 2]::mood[]",
  "a cast that JSON calls": "SELECT to_json(feeling) FROM feelings",
  "a cast that JSON calls in an aggregate": "SELECT json_agg(f) FROM feelings f",
  "a domain's check": "SELECT 'x'::email",
  "a domain's check as CAST": "SELECT CAST(name AS public.email) FROM accounts",
  "a domain's check as a literal": "SELECT email 'x'",
  "a domain's check as a function": "SELECT email('x')",
  "a domain's check as an attribute": "SELECT (a.name).email FROM accounts a",
  "a domain of a domain": "SELECT 'x'::work_email",
  "an array of a domain": "SELECT '{x}'::email[]",
  "a domain in a row": "SELECT '(1,x)'::contact",
  "a domain in a row of values": "SELECT ROW('a', 'x')::contact",
  "a domain in columns of JSON": `SELECT * FROM jsonb_to_record('{"a": "x"}') AS t(a email)`,
  "a domain in JSON_TABLE": `SELECT * FROM JSON_TABLE('{"a": "x"}'::jsonb, '$' COLUMNS (a email PATH '$.a'))`,
  "a domain in JSON_VALUE": `SELECT JSON_VALUE('{"a": "x"}'::jsonb, '$.a' RETURNING email)`,
  "a domain in XMLTABLE":
    "SELECT * FROM XMLTABLE('/r' PASSING ('<r><a>x</a></r>'::xml) COLUMNS a email PATH 'a')",
  "a domain filled from JSON": `SELECT jsonb_populate_record(NULL::people, '{"email": "x"}')`,
  "a domain filled from JSON by a row": `SELECT jsonb_populate_record(p, '{"email": "x"}') FROM people p`,
  "a domain in a string beside an array": "SELECT 1 FROM people WHERE others = '{x}'",
  "a domain in a string in COALESCE": "SELECT COALESCE(home, '(a,x)') FROM people",
  "a domain's name in a string": "SELECT pg_input_is_valid('x', 'email')",
  "a domain's input function": "SELECT domain_in('x', 'email'::regtype, -1)",
  "a function named like a built-in": `SELECT lower('{}'::jsonb)`,
  "a function named like a built-in, as an attribute": `SELECT ('{}'::jsonb).lower`,
  "a function first in the search path": "SELECT tidy('x')",
  "a function by its schema": "SELECT tools.tidy('x')",
  "an aggregate": "SELECT summed(id) FROM accounts",
  "a function of a result that is not shown": "SELECT count(*) FROM (SELECT a.bonus FROM accounts a) x",
  "a function in ORDER BY": "SELECT id FROM accounts a ORDER BY a.bonus",
  "a function in a window": "SELECT sum(id) OVER (PARTITION BY a.bonus) FROM accounts a",
  "a function in LIMIT": "SELECT id FROM accounts LIMIT liar()",
  "a function in VALUES": "VALUES (liar())",
  "a function in a recursive CTE": "WITH RECURSIVE r AS (SELECT liar() AS i UNION SELECT i FROM r) TABLE r",
  "a function in the second half of a union": "SELECT 1 UNION SELECT liar()",
  "a function in FILTER": "SELECT count(*) FILTER (WHERE a.bonus > 0) FROM accounts a",
  "a function in a join's condition": "SELECT 1 FROM accounts a JOIN accounts b ON a.bonus = b.bonus",
  "a function in GROUPING SETS": "SELECT 1 FROM accounts a GROUP BY GROUPING SETS ((a.bonus), ())",
  "a function in an array": "SELECT ARRAY[liar()]",
  "a function in an index": "SELECT (ARRAY[1, 2])[liar()]",
  "a function in TABLESAMPLE": "SELECT 1 FROM accounts TABLESAMPLE system (liar())",
  "a function in a frame": "SELECT sum(id) OVER (ROWS liar() PRECEDING) FROM accounts",
  "a function in ROWS FROM": "SELECT * FROM ROWS FROM (liar(), generate_series(1, 2))",
  "a function with a named argument": "SELECT twice(n => 1)",
  "a function in a JSON constructor": "SELECT JSON_OBJECT('a': liar())",
}

/** Ordinary queries, which must be allowed in spite of all of the above. */
const ALLOWED: Record<string, readonly [sql: string, first: unknown]> = {
  aggregates: ["SELECT count(*), sum(balance), avg(balance), min(name), max(id) FROM accounts", 100],
  "an operator that another type also has": ["SELECT a.balance + 1 FROM accounts a WHERE a.id = 1", 11],
  "all columns of a table": ["SELECT a.* FROM accounts a WHERE a.id = 1", 1],
  LIKE: ["SELECT count(*) FROM accounts WHERE name LIKE 'person 1%' AND name ILIKE 'PERSON%'", 12],
  "SIMILAR TO and regular expressions": ["SELECT 'abc' SIMILAR TO 'a%' AND 'abc' ~* 'B'", true],
  "IN, BETWEEN, CASE and NULLIF": [
    "SELECT CASE id WHEN 1 THEN 'a' ELSE 'b' END, NULLIF(id, 2) FROM accounts WHERE id IN (1, 2) AND id BETWEEN 1 AND 1",
    "a",
  ],
  "a column called like a function": ["SELECT a.balance, balance FROM accounts a WHERE id = 1", 10],
  "casts of values": [
    "SELECT '1'::int, 1.5::text, balance::numeric(10, 2), CAST('2026-01-02' AS date) FROM accounts LIMIT 1",
    1,
  ],
  "casts as functions": ["SELECT text(1), int4('1'), float8(1)", "1"],
  "typed literals": ["SELECT date '2026-01-02' + interval '1 day'", "2026-01-03 00:00:00"],
  "date functions": [
    "SELECT date_trunc('month', timestamp '2026-05-06'), now() > current_date, age(current_date)",
    "2026-05-01 00:00:00",
  ],
  EXTRACT: ["SELECT EXTRACT(year FROM date '2026-01-02'), date_part('day', date '2026-01-02')", 2026],
  "AT TIME ZONE": ["SELECT timestamptz '2026-01-02 00:00Z' AT TIME ZONE 'UTC'", "2026-01-02 00:00:00"],
  to_char: ["SELECT to_char(date '2026-01-02', 'YYYY-MM')", "2026-01"],
  "string functions": [
    "SELECT upper(name), split_part(name, ' ', 2), substring(name from 1 for 3), trim(both from name), position('n' in name) FROM accounts WHERE false",
    undefined,
  ],
  "a built-in by its schema": ["SELECT pg_catalog.lower('ABC')", "abc"],
  windows: [
    "SELECT row_number() OVER (ORDER BY id), rank() OVER w, lag(id, 1, 0) OVER w FROM accounts WINDOW w AS (PARTITION BY balance % 2 ORDER BY id)",
    1,
  ],
  "a frame": [
    "SELECT sum(balance) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM accounts",
    10,
  ],
  "ordered-set aggregates": [
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY balance) FROM accounts",
    505,
  ],
  string_agg: [
    "SELECT string_agg(DISTINCT name, ', ' ORDER BY name) FILTER (WHERE id < 3) FROM accounts",
    "person 1, person 2",
  ],
  arrays: [
    "SELECT array_agg(id ORDER BY id) @> ARRAY[1], (ARRAY[1, 2])[1], cardinality('{1,2}'::int[]) FROM accounts",
    true,
  ],
  unnest: ["SELECT x FROM unnest(ARRAY[1, 2]) WITH ORDINALITY AS t(x, n) WHERE n = 2", 2],
  "ANY and ALL": ["SELECT 1 = ANY ('{1,2}'::int[]), 1 <> ALL (ARRAY[2])", true],
  generate_series: [
    "SELECT count(*) FROM generate_series(date '2026-01-01', date '2026-01-31', interval '1 day') d",
    31,
  ],
  "a CTE": ["WITH accounts AS (SELECT * FROM accounts WHERE id < 3) SELECT count(*) FROM accounts", 2],
  "a recursive CTE": [
    "WITH RECURSIVE r(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM r WHERE i < 5) SELECT sum(i) FROM r",
    15,
  ],
  "a lateral join": [
    "SELECT x.b FROM accounts a CROSS JOIN LATERAL (SELECT a.balance * 2 AS b) x WHERE a.id = 1",
    20,
  ],
  "USING and NATURAL": [
    "SELECT count(*) FROM accounts JOIN accounts b USING (id) NATURAL JOIN (SELECT 1 AS id) c",
    1,
  ],
  "set operations": ["SELECT id FROM accounts WHERE id = 7 INTERSECT SELECT 7 EXCEPT SELECT 8", 7],
  "grouping sets": [
    "SELECT count(*), grouping(balance > 0) FROM accounts GROUP BY ROLLUP (balance > 0) HAVING count(*) > 1",
    100,
  ],
  "JSON operators": [
    `SELECT '{"a": {"b": [1, 2]}}'::jsonb #>> '{a,b,0}', '{"a": 1}'::jsonb ? 'a', '{"a": 1}'::json ->> 'a'`,
    "1",
  ],
  "JSON functions": [
    "SELECT jsonb_agg(name ORDER BY id) -> 0, jsonb_build_object('n', count(*)) FROM accounts",
    "person 1",
  ],
  "JSON as rows": [
    `SELECT t.a FROM jsonb_to_recordset('[{"a": 1}, {"a": 2}]') AS t(a int, b text) ORDER BY 1 DESC`,
    2,
  ],
  "a row as JSON": [
    "SELECT row_to_json(a) ->> 'name' FROM (SELECT name FROM accounts WHERE id = 1) a",
    "person 1",
  ],
  "SQL/JSON": [
    `SELECT JSON_VALUE('{"a": 1}'::jsonb, '$.a' RETURNING int), jsonb_path_query_first('[3]', '$[0]')`,
    1,
  ],
  "full text": [
    "SELECT to_tsvector('english', 'big dogs') @@ websearch_to_tsquery('english', 'dog'), ts_rank(to_tsvector('a'), to_tsquery('a')) > 0",
    true,
  ],
  ranges: [
    "SELECT int4range(1, 5) @> 3, daterange('2026-01-01', '2026-02-01') && daterange('2026-01-15', NULL)",
    true,
  ],
  "a domain whose check is built in": ["SELECT 1::positive, '2'::public.positive", 1],
  "an enum": ["SELECT 'new'::text::status::text, enum_range(NULL::status)::text", "new"],
  "a column of a domain": ["SELECT p.email, p.home, others FROM people p WHERE p.id = 1", null],
  "a subquery with a column called like a domain": ["SELECT x.email FROM (SELECT 'a' AS email) x", "a"],
  "an explicit row": ["SELECT (1, 2) = (1, 2), ROW(1, 'a') IS NOT NULL", true],
  "COALESCE, GREATEST and IS DISTINCT FROM": [
    "SELECT COALESCE(NULL, 1), GREATEST(1, 2), 1 IS DISTINCT FROM NULL",
    1,
  ],
  EXISTS: ["SELECT EXISTS (SELECT FROM accounts), NOT EXISTS (SELECT FROM accounts WHERE false)", true],
  "DISTINCT ON": ["SELECT DISTINCT ON (balance % 10) id FROM accounts ORDER BY balance % 10, id", 1],
  "chance and time": [
    "SELECT random() < 1, clock_timestamp() > now(), length(gen_random_uuid()::text)",
    true,
  ],
  "a sample": ["SELECT count(*) >= 0 FROM accounts TABLESAMPLE bernoulli (50) REPEATABLE (1)", true],
  "the catalog": ["SELECT count(*) FROM information_schema.tables WHERE table_name = 'accounts'", 1],
  "a size": ["SELECT pg_size_pretty(0::bigint), pg_total_relation_size('accounts') > 0", "0 bytes"],
  "a view that calls a function": ["SELECT bonus FROM with_bonus WHERE id = 1", 20],
  "a view's column called like a function": ["SELECT v.bonus FROM with_bonus v WHERE v.id = 1", 20],
  "an XML value": ["SELECT xmlelement(name a, 1)::text", "<a>1</a>"],
}

describe("the functions that a query calls", () => {
  test.each(Object.entries(HIDDEN_CALLS))("hidden call: %s is refused and runs nothing", async (_, sql) => {
    const error = await bank.database.query(sql, { timeout: 20_000 }).then(
      () => undefined,
      (thrown) => thrown,
    )
    expect(error).toMatchObject({ code: "QUERY_REFUSED" })
    expect(await bank.everything()).toEqual(bank.before)
  })

  test.each(Object.entries(ALLOWED))("%s is allowed", async (_, [sql, first]) => {
    const { rows } = await bank.database.query(sql, { timeout: 20_000 })
    expect(rows[0]?.[0]).toEqual(first)
    expect(await bank.everything()).toEqual(bank.before)
  })
})

describe("with the functions allowed", () => {
  const named = [
    ...["bonus", "counted", "matched", "same", "to_number_of", "to_mood", "mood_json", "is_email", "twice"],
    ...["summed"],
  ].map((name) => `public.${name}`)
  const allowed: Record<string, string> = {
    "a call": "SELECT bonus(a) FROM accounts a LIMIT 1",
    "an attribute": "SELECT a.bonus FROM accounts a LIMIT 1",
    "an operator": "SELECT a + 1 FROM accounts a LIMIT 1",
    "a cast": "SELECT a::int FROM accounts a LIMIT 1",
    "a domain": "SELECT 1 FROM (SELECT 'x'::email) x",
    "an aggregate": "SELECT summed(id) - 5049 FROM accounts",
    "a built-in that is refused by default": "SELECT 1 FROM (SELECT txid_current()) x",
  }

  test.each(Object.entries(allowed))("%s runs", async (_, sql) => {
    const open = postgresDatabase({
      id: "bank",
      connectionString: bank.server.url("reader", "reader"),
      allowFunctions: [...named, "pg_catalog.txid_current"],
    })
    try {
      expect((await open.query(sql)).rows).toEqual([[1]])
    } finally {
      await open.close?.()
      await bank.server.run("DELETE FROM calls")
    }
  })

  test("a function is refused by its signature, with the setting that allows it", async () => {
    const message = (sql: string) =>
      bank.database.query(sql, { timeout: 20_000 }).catch((error) => error.message)
    expect(await message("SELECT a.bonus FROM accounts a")).toBe(
      "The query was refused: the function public.bonus(public.accounts), which .bonus calls, is not allowed: it may have " +
        'side effects (VOLATILE). To allow it, add "public.bonus" to `allow_functions` of the database bank in the goal file, or to `allowFunctions` in code.',
    )
    expect(await message("SELECT twice(1)")).toContain("it is neither PostgreSQL's own nor an extension's")
    expect(await message("SELECT peek()")).toContain("with the rights of its owner (SECURITY DEFINER)")
    expect(await message("SELECT lower('{}'::jsonb)")).toContain(
      "own function of that name is pg_catalog.lower(…)",
    )
    expect(await message("SELECT a::int FROM accounts a")).toContain(
      "which a cast from public.accounts to integer calls",
    )
  })

  test("names without a schema are refused", () => {
    expect(() => postgresDatabase({ id: "bank", allowFunctions: ["bonus"] })).toThrow(
      'allowFunctions of the database bank has "bonus": write schema.name, such as "public.bonus".',
    )
  })
})

describe("without the guard", () => {
  /** They call something that leaves no trace, or that this role may not do anyway. */
  const traceless = new Set([
    "an attribute that is a lock",
    "an operator that is a lock",
    "an attribute that reads a file",
    "an aggregate",
    "a function with a named argument",
  ])

  test.each(Object.entries(HIDDEN_CALLS).filter(([name]) => !traceless.has(name)))(
    "hidden call: %s runs a function",
    async (_, sql) => {
      try {
        await bank.withoutGuard(sql, { ...LIMITS, timeout: 20_000 })
        expect(await bank.server.run("SELECT via FROM calls LIMIT 1")).toHaveLength(1)
      } finally {
        await bank.server.run("DELETE FROM calls")
      }
    },
  )
})
