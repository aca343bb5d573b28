import type { RequestOf, Verb } from 'nest-dq/src/ledger/ledger.js';

/** The kind of a request with its answer, as far as it makes a difference. */
export function kindOf(verb: Verb, request: RequestOf<Verb>, answer: unknown): string {
  const { kind, by, why, fresh, letter, replaced, already, left, result, state } = (answer ?? {}) as Readonly<
    Record<string, unknown>
  >;
  switch (verb) {
    case 'claim':
      return `claim: ${kind as string}${fresh === true ? ', now' : ''}${letter === true ? ', a letter' : ''}${by ? ` by ${by as string}` : ''}`;
    case 'complete':
      return `complete ${(request as RequestOf<'complete'>).outcome.kind}: ${answer as string}`;
    case 'open':
    case 'commit': {
      const { by } = (request as RequestOf<'open'>).opening;
      const more = already ? ', already' : replaced ? ', replaced' : left ? ', a letter' : '';
      return `${verb} ${by}: ${(why ?? kind) as string}${more}`;
    }
    case 'extend':
    case 'abort':
    case 'buried':
    case 'index':
      return `${verb}: ${answer as string}`;
    case 'revoke':
      return `revoke: ${result as string}`;
    case 'find':
    case 'locate':
      return `${verb}: ${(state ?? 'none') as string}`;
    case 'waiting': {
      const { ids, more } = answer as { ids: unknown[]; more: boolean };
      return `${verb}: ${more ? 'more' : ids.length > 0 ? 'some' : 'none'}`;
    }
    case 'tally': {
      const { listed, retrying } = answer as { listed: number; retrying: number };
      return `${verb}: ${retrying > 0 ? 'retrying' : listed > 0 ? 'some' : 'none'}`;
    }
    case 'usage': {
      const { running, inGroup } = answer as { running: number; inGroup: number };
      return `${verb}: ${inGroup > 0 ? 'in the group' : running > 0 ? 'some' : 'none'}`;
    }
    case 'trace': {
      const { left } = (answer ?? {}) as { left?: boolean };
      return `${verb}: ${(state ?? 'none') as string}${left ? ', left' : ''}`;
    }
    case 'deaths':
      return `deaths: ${answer === 0 ? 'none' : 'some'}`;
    case 'letters':
    case 'surplus': {
      const { letters, more } = answer as { letters: unknown[]; more: boolean };
      return `${verb}: ${more ? 'more' : letters.length > 0 ? 'some' : 'none'}`;
    }
    case 'finished': {
      const { jobs, last } = answer as { jobs: unknown[]; last?: object };
      return `${verb}: ${last ? 'more' : jobs.length > 0 ? 'some' : 'none'}`;
    }
    case 'ended':
      return `ended: ${answer === undefined ? 'nothing' : 'a job'}`;
    case 'pause':
    case 'resume':
    case 'paused': {
      const { until } = (answer ?? {}) as { until?: number };
      return `${verb}: ${!answer ? 'nothing' : until === undefined ? 'for good' : 'until'}`;
    }
    default:
      return `${verb}: ${answer === undefined ? 'nothing' : 'a letter'}`;
  }
}

function kinds(what: string, answers: string): string[] {
  return answers.split(' | ').map((answer) => `${what}: ${answer}`);
}

/** All that must be reached. */
export const KINDS: readonly string[] = [
  ...kinds(
    'claim',
    'run | wait | busy | gone | dead | dead, now | stale | paused | expired | expired, a letter',
  ),
  ...kinds('claim', 'limited by concurrency | limited by group | limited by rate'),
  ...kinds('usage', 'none | some | in the group'),
  ...kinds('extend', 'ok | refused | abort'),
  ...['done', 'retry', 'back', 'dead', 'again', 'later'].flatMap((kind) =>
    kinds(`complete ${kind}`, 'ok | over | refused'),
  ),
  ...kinds('open add', 'opened | taken'),
  ...kinds('open move', 'opened | unknown | changed | running | done | revoked | dead | expired'),
  ...kinds('open revive', 'opened | unknown | changed | running | done | revoked'),
  ...kinds('open again', 'opened | unknown | lost | revoked'),
  ...kinds(
    'commit add',
    'committed | committed, replaced | committed, already | taken | changed | overtaken | revoked | forgotten',
  ),
  ...kinds(
    'commit move',
    'committed, replaced | committed, already | changed | overtaken | revoked | running | done | dead | expired',
  ),
  ...kinds('commit revive', 'committed, a letter | committed, already | changed | revoked'),
  ...kinds('abort', 'aborted | started | full'),
  ...kinds('revoke', 'unknown | revoked | running | done | dead | expired'),
  ...kinds('find', 'none | waiting | running | done | revoked | dead | expired'),
  ...kinds('trace', 'none | waiting | waiting, left | running | done | revoked | dead'),
  ...kinds('deaths', 'none | some'),
  ...['letters', 'surplus'].flatMap((verb) => kinds(verb, 'none | some | more')),
  ...['letter', 'discard'].flatMap((verb) => kinds(verb, 'nothing | a letter')),
  ...kinds('finished', 'none | some'),
  ...kinds('ended', 'nothing | a job'),
  ...kinds('index', 'full | listed | known'),
  ...kinds('waiting', 'none | some'),
  ...kinds('locate', 'none | waiting | running | done | revoked | dead'),
  ...kinds('tally', 'none | some | retrying'),
  ...['pause', 'resume', 'paused'].flatMap((verb) => kinds(verb, 'nothing | for good | until')),
  ...kinds('settle', 'nothing'),
  ...kinds('progress', 'nothing'),
  ...kinds('buried', 'dead | gone | unknown'),
];
