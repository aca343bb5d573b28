import { basename } from 'node:path';
import type { NamedTest, Rule } from './rule.js';

/** The rules and their tests as a table of docs/guarantees.md, in the format of prettier. */
export function markdown(rules: readonly Rule[]): string {
  const rows = rules.flatMap(({ rule, mutants }) => {
    const tests = new Set(mutants.map(({ test }) => told(test)));
    return [...tests].map((test, i) => [i === 0 ? rule : '', test] as const);
  });
  const table = [['the rule', 'fails without it'] as const, ...rows];
  const widths = [0, 1].map((column) => Math.max(...table.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |\n`;
  const [head, ...body] = table.map(line);
  return head + line(widths.map((width) => '-'.repeat(width))) + body.join('');
}

function told({ spec, title }: NamedTest): string {
  return `\`${basename(spec)}\`: ${title.replace(/%[a-z]/g, '…')}`;
}
