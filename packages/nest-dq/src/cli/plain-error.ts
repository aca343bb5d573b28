import { NOT_TRIED } from '../cluster/cluster.js';
import { DqError, factOf, type DqErrorCode } from '../errors.js';

const NODES_ADVICE = '`nest-dq doctor` says what is wrong with the nodes';

/** Remedies for errors whose message has none. */
const ADVICE: Partial<Readonly<Record<DqErrorCode, string>>> = {
  DQ_TOO_FEW_COPIES: NODES_ADVICE,
  DQ_NO_COPY: NODES_ADVICE,
};

/** Codes of beanstalkd's and our own errors, within a sentence. */
const INNER_CODE = /\b(?:DQ|CONNECTION|DEADLINE|OUT_OF|BAD|INTERNAL)(?:_[A-Z]+)*: /g;

/** Why a node is down, without the code and the command of its connection. */
export function plainReason(reason: string): string {
  return reason
    .replace(/^CONNECTION_LOST: (the connection failed: )?/, '')
    .replace(/^DEADLINE: no reply to `[^`]+` within /, 'no answer within ');
}

/** An error in one sentence for people, with what to do, and its code at the end; nodes are named without their reasons. */
export function plainError(error: Error): string {
  if (!(error instanceof DqError)) return error.message;
  const { code, nodes = {} } = error;
  const reasons = Object.entries(nodes).map(([node, reason]) => `${node}: ${reason}`);
  const withReasons = factOf(error);
  const failed = Object.keys(nodes).filter((node) => nodes[node] !== NOT_TRIED);
  const without = `no copy stored on ${failed.join(', ')}`;
  const fact = reasons.length > 0 ? withReasons.replace(reasons.join('; '), without) : withReasons;
  const advice = ADVICE[code];
  return `${fact.replaceAll(INNER_CODE, '')}${advice === undefined ? '' : ` → ${advice}`} (${code})`;
}
