import type { ActName, JobRefWire, SingleActs } from '../../src/dashboard/wire.js';
import { act, RequestError } from '../server/requests.js';
import { showDialog } from '../state/dialog.js';
import { tell } from '../state/notice.js';
import { session } from '../state/session.js';
import { Dialog } from '../parts/dialog.js';
import { plainReason } from '../parts/failure.js';
import { t } from '../words/language.js';
import type { WordKey } from '../words/words.js';
import { ConfirmForm, useConfirming } from './confirming.js';

/** Performs an act and shows its result. Resolves with whether it succeeded. */
export async function doAct<Name extends keyof SingleActs>(
  name: Name,
  body: SingleActs[Name]['body'],
  after: () => void,
): Promise<boolean> {
  const failure = await tryAct(name, body, after);
  if (failure) tell(errorText(failure), true);
  return failure === undefined;
}

/** Runs a job now. */
export function runNow(job: JobRefWire, name: string, after: () => void): Promise<unknown> | void {
  const run = () => doAct('runNow', job, after);
  return askInProduction('runNow', t('runNow.title', { job: name }), t('runNow.text'), t('act.runNow'), run);
}

/** Asks first where the environment is dangerous, such as production. */
export function askInProduction(...question: Parameters<typeof askFirst>): Promise<unknown> | void {
  if (session.peek()?.environment?.tone === 'danger') return askFirst(...question);
  return question[4]();
}

/** Does an act, and tells what it led to, but not a failure: that is returned. */
export async function tryAct<Name extends keyof SingleActs>(
  name: Name,
  body: SingleActs[Name]['body'],
  after: () => void,
): Promise<Error | undefined> {
  try {
    const result: unknown = await act(name, body);
    const isUnknown = typeof result === 'object' && result !== null && 'unknown' in result;
    // A job that runs now was moved, too, but nobody says so.
    const runsNow = name === 'runNow' || name === 'runEdited';
    const isPlain =
      typeof result !== 'string' ||
      (runsNow && result === 'rescheduled') ||
      (name === 'abort' && result === 'running');
    const told = t((isPlain ? `did.${name}` : `result.${result}`) as WordKey);
    tell(isUnknown ? `${told} ${t('tube.unknown')}` : told, isUnknown);
    return undefined;
  } catch (error) {
    return error as Error;
  } finally {
    after();
  }
}

export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (!(error instanceof RequestError)) return text;
  return plainReason(error.code) ?? `${error.code}: ${text}`;
}

/**
 * Asks first: for what cannot be taken back. The dialog stays until the act is over.
 * @param act By which it is known whether it can work now.
 */
export function askFirst(
  act: ActName,
  title: string,
  text: string,
  label: string,
  go: () => Promise<unknown>,
): void {
  showDialog(<AskDialog act={act} title={title} text={text} label={label} go={go} />);
}

function AskDialog({
  act,
  title,
  text,
  label,
  go,
}: {
  readonly act: ActName;
  readonly title: string;
  readonly text: string;
  readonly label: string;
  readonly go: () => Promise<unknown>;
}) {
  const confirming = useConfirming(act);
  const work = async () => {
    await go();
    return undefined;
  };
  return (
    <Dialog title={title}>
      <ConfirmForm confirming={confirming} label={label} work={work}>
        <p>{text}</p>
      </ConfirmForm>
    </Dialog>
  );
}
