import { describe, expect, test } from "vitest"
import { mysqlDatabase } from "./mysql.ts"
import { checkMysqlSelect, faultsOf } from "./mysql-query.ts"

describe("queries for MySQL", () => {
  test.each([
    "SELECT 1",
    "select `for`, count(*) from orders group by 1 order by count(*) desc limit 3;",
    "WITH top (customer, n) AS (SELECT customer, COUNT(*) FROM orders GROUP BY 1) SELECT * FROM top",
    "SELECT DATE_FORMAT(placed, '%Y-%m') AS m, SUM(amount) FROM orders WHERE placed >= '2026-01-01' GROUP BY m",
    "SELECT name FROM people WHERE note = 'into outfile; -- \\' sleep(1)' -- a comment\n",
    "(SELECT 1) UNION ALL (SELECT 2) /* both */",
    "SELECT CASE WHEN a IN (1, 2) THEN 'x' ELSE IF(b > 0, 'y', 'z') END FROM t",
    "SELECT JSON_EXTRACT(data, '$.name') FROM t",
    "SELECT AVG(x) OVER (PARTITION BY y ORDER BY z) FROM t",
  ])("allows %s", (sql) => {
    expect(() => checkMysqlSelect(sql)).not.toThrow()
  })

  test.each([
    ["a statement that writes", "DELETE FROM orders"],
    ["two statements", "SELECT 1; DROP TABLE orders"],
    ["a file that is written", "SELECT 'x' INTO OUTFILE '/tmp/x'"],
    ["a file that is dumped", "SELECT 'x' INTO DUMPFILE '/tmp/x'"],
    ["a variable that is set", "SELECT 1 INTO @x"],
    ["a variable", "SELECT @@secure_file_priv"],
    ["an assignment", "SELECT @a := 1"],
    ["a file that is read", "SELECT LOAD_FILE('/etc/passwd')"],
    ["a file that is read, with a space", "SELECT load_file ('/etc/passwd')"],
    ["a file that is read, in backquotes", "SELECT `load_file`('/etc/passwd')"],
    ["a file that is read, with a comment", "SELECT LOAD_FILE/**/('/etc/passwd')"],
    ["a pause", "SELECT SLEEP(10)"],
    ["work for nothing", "SELECT BENCHMARK(1e9, SHA2('x', 512))"],
    ["a lock by name", "SELECT GET_LOCK('x', 10)"],
    ["a lock that is released", "SELECT RELEASE_ALL_LOCKS()"],
    ["a wait", "SELECT MASTER_POS_WAIT('x', 1)"],
    ["a lock of rows", "SELECT * FROM orders FOR UPDATE"],
    ["a shared lock of rows", "SELECT * FROM orders LOCK IN SHARE MODE"],
    ["a procedure", "SELECT * FROM orders PROCEDURE ANALYSE()"],
    ["a stored function", "SELECT bonus(1)"],
    ["a stored function of a schema", "SELECT shop.lower(1)"],
    ["a sequence", "SELECT NEXTVAL(s)"],
    ["a sequence, as MariaDB writes it", "SELECT NEXT VALUE FOR s"],
    ["XML that fails with what it found", "SELECT EXTRACTVALUE(1, CONCAT(0x7e, 'x'))"],
    ["what MySQL runs in a comment", "SELECT 1 /*! INTO OUTFILE '/tmp/x' */"],
    ["what MariaDB runs in a comment", "SELECT 1 /*M!100000 INTO OUTFILE '/tmp/x' */"],
    ["a hint that changes a setting", "SELECT /*+ SET_VAR(max_execution_time = 0) */ 1"],
    ["a comment to the end of the line", "SELECT 1 # x"],
    ["two minuses that are no comment", "SELECT 1 --1"],
    ["an escape of ODBC", "SELECT {fn SLEEP(1)}"],
    ["a parameter", "SELECT ?"],
    ["the server's users", "SELECT * FROM mysql.user"],
    ["the server's users, in backquotes", "SELECT * FROM `mysql` . `user`"],
    ["what others run", "SELECT * FROM performance_schema.events_statements_current"],
    ["a table that is read by its name", "HANDLER orders OPEN"],
    ["an explanation", "EXPLAIN SELECT 1"],
    ["a string that does not end", "SELECT 'a\\'"],
    ["nothing", ";"],
  ])("refuses %s", (_, sql) => {
    expect(() => checkMysqlSelect(sql)).toThrow()
  })
})

describe("rights of a user", () => {
  test.each([
    ["GRANT USAGE ON *.* TO `reader`@`%`"],
    ["GRANT SELECT ON `shop`.* TO `reader`@`%`"],
    ["GRANT SELECT, SHOW VIEW ON `shop`.* TO `reader`@`%` REQUIRE SSL"],
    ["GRANT SELECT (`id`, `name`) ON `shop`.`people` TO `reader`@`%`"],
    ["GRANT `readers`@`%` TO `reader`@`%`"],
    ["GRANT USAGE ON *.* TO `reader`@`%` IDENTIFIED BY PASSWORD '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'"],
  ])("%s is read-only", (grant) => {
    expect(faultsOf([grant])).toEqual([])
  })

  test.each([
    ["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION", "may ALL PRIVILEGES on *.*"],
    ["GRANT SELECT, INSERT (`id`), UPDATE ON `shop`.* TO `a`@`%`", "may INSERT, UPDATE on `shop`.*"],
    ["GRANT FILE ON *.* TO `a`@`%`", "may FILE on *.*"],
    ["GRANT EXECUTE ON FUNCTION `shop`.`bonus` TO `a`@`%`", "may EXECUTE on `shop`.`bonus`"],
    ["GRANT PROCESS, LOCK TABLES ON *.* TO `a`@`%`", "may PROCESS, LOCK TABLES on *.*"],
    ["GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `a`@`%`", "may SYSTEM_VARIABLES_ADMIN on *.*"],
    ["GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION", "may PROXY on ''@'%'"],
  ])("%s is more than reading", (grant, fault) => {
    expect(faultsOf([grant])[0]).toBe(fault)
  })
})

test("an invalid address is refused, without its password", () => {
  const make = (connectionString: string) => () => mysqlDatabase({ id: "shop", connectionString })
  for (const url of ["postgresql://a:s3cret@b/c", "mysql://a:s3cret@b", "mysql//a:s3cret@b/c"]) {
    expect(make(url)).toThrow("mysql://user:password@host:port/database")
    expect(make(url)).not.toThrow("s3cret")
  }
})

test("an unreachable server is reported with its address", async () => {
  const database = mysqlDatabase({ id: "shop", connectionString: "mysql://a:s3cret@127.0.0.1:1/shop" })
  const error = await database.schema().catch((one) => one)
  expect(error).toMatchObject({
    code: "DATABASE_UNREACHABLE",
    message: expect.stringContaining("127.0.0.1:1/shop is unreachable"),
  })
  expect(JSON.stringify([error.message, String(error.cause)])).not.toContain("s3cret")
})
