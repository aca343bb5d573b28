// npm run words: finds turns of phrase that CONTRIBUTING.md rules out, in comments, strings and pages, and long commit subjects.
// Exit status: 0 none, 1 some, each with its file, its line and what to write instead.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import ts from 'typescript';

/** Each pattern, and what to write instead. Only turns that are never right: "tell" and "behind" are English. */
const TURNS = [
  [/\bso many\b(?! that)/i, 'n, at most n, the number of'],
  [/\banew\b/i, 'again'],
  [/\b(?:goes|go|went) on\b/i, 'continue'],
  [/\bbeside\b/i, 'next to, along with, in addition to'],
  [/\bdue since\b/i, 'overdue since'],
  [/\btold\b/i, 'logged, reported'],
  [/\btells? of\b/i, 'reports'],
  [/\b(?:is|are) there for\b/i, 'is for, waits for'],
  [/\bhas to do with\b/i, 'concerns'],
  [/\bby the clock\b(?!\s+of)/i, 'name the clock'],
  [/\bat hand\b/i, 'available, held'],
  [/\btried again until\b/i, 'retrying'],
  [/\bthe instant is over\b/i, 'the time is in the past'],
  [/\ba text that\b/i, 'a string that'],
  [/\bnon-empty text\b/i, 'a non-empty string'],
  [/\bis not known\b/i, 'is unknown'],
  [/\bhas to be given\b/i, 'is required'],
  [/\b(?:Page|page) somebody\b/, 'page the on-call'],
  [/\bdoes what one has to do for all\b/i, 'the leader'],
  [/\bof so much\b(?! that)/i, 'name the quantity'],
];
/** How a comment never begins. */
const RIDDLES = [
  [/^(?:Of|That of|Those of|Whose|What|So many|Of which)\b/, 'a noun phrase that names the thing'],
  [/^(?:Milliseconds|Seconds|Bytes)\.$/, 'what is measured, with its unit'],
  [/^Undefined:/, 'Undefined if …'],
];
const MAX_SUBJECT = 72;
/** Strings here aren't read: source code of mutants, and names of rows in saved results. */
const COMMENTS_ONLY = /^(?:test\/rules|bench)\//;
/** Commits before this day had no such check. */
const SUBJECTS_SINCE = '2026-11-28';

const git = (...args) => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });

/** Blanks what marks a comment, and code in it, so that offsets stay true. */
const unmarked = (comment) =>
  comment.replace(/^[^\S\n]*(?:\/\*+|\/\/+|\*(?!\/))|\*\/$|`[^`\n]*`|(?<=@param )\w+/gm, (part) =>
    ' '.repeat(part.length),
  );

/** The comments and strings of a program: offset, text, and whether it is a comment. */
function textsOf(name, source) {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true);
  const texts = new Map();
  const visit = (node) => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(source, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source, node.end) ?? []),
    ];
    if (!ts.isJsxText(node))
      for (const { pos, end } of ranges)
        texts.set(pos, { at: pos, text: unmarked(source.slice(pos, end)), comment: true });
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node) || ts.isJsxText(node);
    // A single word is an identifier or a value.
    if (isText && node.text.includes(' '))
      texts.set(node.getStart(file), { at: node.getStart(file), text: node.getText(file), comment: false });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return [...texts.values()];
}

/** The prose of a page: code is blanked, so that offsets stay true. */
function proseOf(page) {
  return page.replace(/^```[^]*?^```|`[^`\n]*`|\]\([^)\n]*\)|<[^>\n]*>/gm, (code) =>
    code.replace(/[^\n]/g, ' '),
  );
}

/** Calls `found` with the offset, the words and the advice for each turn in a text. */
function search({ at, text, comment }, found) {
  for (const [turn, advice] of TURNS)
    for (const match of text.matchAll(new RegExp(turn.source, `${turn.flags}g`)))
      found(at + match.index, match[0], advice);
  if (!comment) return;
  const start = text.search(/\S/);
  for (const [riddle, advice] of RIDDLES) {
    const match = riddle.exec(text.slice(start).trimEnd());
    if (match) found(at + start, match[0], advice);
  }
}

const found = [];
const only = process.argv.slice(2);
for (const path of git('ls-files', ...only).split('\n')) {
  const extension = extname(path);
  const isCode = ['.ts', '.tsx', '.mjs', '.js'].includes(extension);
  if ((!isCode && extension !== '.md') || path === 'scripts/words.mjs') continue;
  const source = readFileSync(path, 'utf8');
  const texts = isCode ? textsOf(path, source) : [{ at: 0, text: proseOf(source), comment: false }];
  for (const text of texts.filter(({ comment }) => comment || !isCode || !COMMENTS_ONLY.test(path)))
    search(text, (at, words, advice) => {
      const line = source.slice(0, at).split('\n').length;
      found.push(`${path}:${line}  "${words}": write ${advice}`);
    });
}
if (only.length === 0) {
  for (const line of git('log', `--since=${SUBJECTS_SINCE}`, '--no-merges', '--format=%h %s').split('\n')) {
    const subject = line.slice(line.indexOf(' ') + 1);
    if (subject.length > MAX_SUBJECT)
      found.push(`commit ${line}: ${subject.length} characters, ${MAX_SUBJECT} at most`);
  }
}
for (const line of found) console.log(line);
process.exitCode = found.length > 0 ? 1 : 0;
