import { useState } from 'preact/hooks';
import type { JobRefWire } from '../../src/dashboard/wire.js';
import { Dialog } from '../parts/dialog.js';
import { showDialog } from '../state/dialog.js';
import { t } from '../words/language.js';
import { ConfirmForm, useConfirming } from './confirming.js';
import { tryAct } from './one.js';

/** Asks for another payload of a waiting or dead job, and runs it with that. */
export function editPayload(job: JobRefWire, payload: unknown, after: () => void): void {
  showDialog(<EditDialog job={job} payload={payload} after={after} />);
}

function EditDialog({
  job,
  payload,
  after,
}: {
  readonly job: JobRefWire;
  readonly payload: unknown;
  readonly after: () => void;
}) {
  const [text, setText] = useState(JSON.stringify(payload, null, 2));
  const edited = parsed(text);
  const confirming = useConfirming('runEdited');
  return (
    <Dialog title={t('edit.title')}>
      <p>{t('edit.text')}</p>
      <ConfirmForm
        confirming={confirming}
        label={t('act.runEdited')}
        disabled={!edited}
        work={() => tryAct('runEdited', { ...job, payload: edited!.value }, after)}
      >
        <label>
          <span>{t('edit.payload')}</span>
          <textarea
            class="code"
            rows={12}
            spellcheck={false}
            value={text}
            aria-invalid={!edited}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <p class="bad small" role="status">
          {!edited && t('edit.invalid')}
        </p>
      </ConfirmForm>
    </Dialog>
  );
}

/** Undefined if it isn't JSON. */
function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
