/**
 * A transcript is what clients send to a node and what they hear from it, byte for byte:
 *
 *     == a job goes to the one who waits [max-job-size 100]
 *     A> reserve                 sends the line and CRLF; lines in a row of one client are one write
 *     A waits                    until the node has it wait
 *     B> put 0 0 60 5
 *     B> hello
 *     B< INSERTED 1              hears exactly this line and CRLF
 *     A< RESERVED 1 5
 *     A< hello
 *     A> list-tubes
 *     A< OK #                    # is the true number of bytes up to the empty line
 *     A| ---                     hears exactly this line and LF
 *     A| - def*                  * is anything within a line
 *     A<
 *
 * Further steps are `A half-closes`, `A leaves` (its connection is cut), `A hears the end`, `the node drains`, and
 * `1.5 s pass`. `\` at the end of a sent line: without CRLF. Escapes are \r \n \t \0 \xHH \\ and {x*300} for 300 times x.
 * A step after `beanstalkd:` or `embedded:` is a step of this node only: that is how a difference is written down.
 * At the end nobody has anything left to hear.
 */
export interface Transcript {
  readonly title: string;
  readonly maxJobSize: number | undefined;
  steps(kind: NodeKind): Step[];
}

export type NodeKind = 'beanstalkd' | 'embedded';

export type Step = { readonly line: number } & (
  | { readonly act: 'sends'; readonly who: string; readonly bytes: string }
  | { readonly act: 'hears'; readonly who: string; readonly words: Words }
  | { readonly act: ClientAct; readonly who: string }
  | { readonly act: 'drains' }
  | { readonly act: 'passes'; readonly seconds: number }
);

/** A line, and whether it is a pattern with * or #. */
export interface Words {
  readonly line: string;
  readonly isPattern: boolean;
}

const CLIENT_ACTS = ['waits', 'half-closes', 'leaves', 'hears the end'] as const;
type ClientAct = (typeof CLIENT_ACTS)[number];

interface Line {
  readonly number: number;
  readonly only: NodeKind | undefined;
  readonly text: string;
}

/** All transcripts of a file's text. */
export function parseTranscripts(file: string, text: string): Transcript[] {
  const transcripts: { title: string; maxJobSize: number | undefined; lines: Line[] }[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const number = index + 1;
    const title = /^== (.*?)(?: \[max-job-size (\d+)\])?$/.exec(line);
    if (title) {
      const maxJobSize = title[2] === undefined ? undefined : Number(title[2]);
      transcripts.push({ title: `${file}: ${title[1]}`, maxJobSize, lines: [] });
    } else if (line !== '' && !line.startsWith('#')) {
      const [, only, rest] = /^(?:(beanstalkd|embedded): )?(.*)$/.exec(line)!;
      transcripts.at(-1)!.lines.push({ number, only: only as NodeKind | undefined, text: rest! });
    }
  }
  return transcripts.map(({ title, maxJobSize, lines }) => {
    const parsed = lines.map(({ only, ...line }) => ({
      only,
      step: parseStep(`${file}:${line.number}`, line),
    }));
    return {
      title,
      maxJobSize,
      steps: (kind) =>
        joinSends(parsed.filter(({ only }) => only === undefined || only === kind).map(({ step }) => step)),
    };
  });
}

function parseStep(where: string, { number: line, text }: Omit<Line, 'only'>): Step {
  const said = /^([A-Z])([>|<])(?: (.*))?$/.exec(text);
  if (said) {
    const [, who, how, words = ''] = said as unknown as [string, string, string, string?];
    if (how === '>') return { line, act: 'sends', who, bytes: unescape(words) };
    const text = unescape(words).slice(0, -2);
    const isPattern = /[*#]/.test(words.replaceAll(/\{.*?\}/g, ''));
    return { line, act: 'hears', who, words: { line: `${text}${how === '<' ? '\r\n' : '\n'}`, isPattern } };
  }
  const passes = /^([\d.]+) s pass$/.exec(text);
  if (passes) return { line, act: 'passes', seconds: Number(passes[1]) };
  if (text === 'the node drains') return { line, act: 'drains' };
  const [who, act] = [text[0]!, text.slice(2)];
  const known = CLIENT_ACTS.find((each) => each === act);
  if (known && /^[A-Z] /.test(text)) return { line, act: known, who };
  throw new Error(`${where}: what does "${text}" mean?`);
}

const ESCAPES: Readonly<Record<string, string>> = { r: '\r', n: '\n', t: '\t', 0: '\0', '\\': '\\' };

/** With a CRLF, unless a backslash is last. */
function unescape(text: string): string {
  const ended = /(?<!\\)(?:\\\\)*\\$/.test(text) ? text.slice(0, -1) : `${text}\\r\\n`;
  return ended
    .replaceAll(/\{(.)\*(\d+)\}/g, (_, what: string, count: string) => what.repeat(Number(count)))
    .replaceAll(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex: string | undefined, name: string) =>
      hex === undefined ? ESCAPES[name]! : String.fromCharCode(parseInt(hex, 16)),
    );
}

function joinSends(steps: readonly Step[]): Step[] {
  const joined: Step[] = [];
  for (const step of steps) {
    const last = joined.at(-1);
    if (last?.act === 'sends' && step.act === 'sends' && last.who === step.who) {
      joined[joined.length - 1] = { ...last, bytes: last.bytes + step.bytes };
    } else {
      joined.push(step);
    }
  }
  return joined;
}
