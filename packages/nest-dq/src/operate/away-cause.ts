/** Why a server can't be used, as a code that every language has words for. */
export type AwayCause =
  | 'connecting'
  | 'refused'
  | 'closed'
  | 'silent'
  | 'unreachable'
  | 'unknown-host'
  | 'tls'
  | 'loading'
  | 'denied'
  | 'replica'
  | 'full'
  | 'rejects'
  | 'disk'
  | 'binlog'
  | 'twin'
  | 'lanes'
  | 'other';

/** The first match counts: a reason names its own cause before that of others. */
const CAUSES: readonly (readonly [AwayCause, RegExp])[] = [
  ['loading', /^LOADING /],
  ['denied', /^(NOAUTH|WRONGPASS|NOPERM)\b|^ERR AUTH\b/],
  ['replica', /^READONLY /],
  ['full', /^OOM /],
  ['rejects', /^it rejects new jobs /],
  ['disk', /^MISCONF /],
  ['binlog', /^its binlog has stopped/],
  ['twin', /^it is the same server as /],
  ['lanes', /^cannot open a connection to reserve /],
  ['tls', /\bTLS\b|certificate/],
  ['refused', /\bECONNREFUSED\b/],
  ['unknown-host', /\b(ENOTFOUND|EAI_AGAIN)\b/],
  ['unreachable', /\b(EHOSTUNREACH|ENETUNREACH|EHOSTDOWN)\b/],
  ['silent', /\bETIMEDOUT\b|\bDEADLINE\b|\bno (answer|reply) |\bno connection for |timed out/],
  [
    'closed',
    /\b(ECONNRESET|EPIPE)\b|connection (was|is) closed|ended the connection|connection closed|CONNECTION_LOST/i,
  ],
  ['connecting', /^no connection yet|^not connected yet|enableOfflineQueue/],
];

/** Returns the cause of a `reason`, as health, nodes and ledger report it. */
export function awayCause(reason: string): AwayCause {
  return CAUSES.find(([, pattern]) => pattern.test(reason))?.[0] ?? 'other';
}
