import { useState } from 'preact/hooks';
import type { NodesWire } from '../../src/dashboard/wire.js';
import { Dialog } from '../parts/dialog.js';
import { TubeSelect } from '../parts/tube-select.js';
import { showDialog } from '../state/dialog.js';
import { live } from '../state/live.js';
import { t } from '../words/language.js';
import { askBulk } from './bulk-dialog.js';
import { ConfirmForm, useConfirming } from './confirming.js';

/** Asks which jobs get the copies that they miss, counts them, and repairs. The next live state shows what it led to. */
export function askRepair(): void {
  showDialog(<RepairDialog />);
}

function RepairDialog() {
  const confirming = useConfirming('repair');
  const [tube, setTube] = useState<string>();
  const [node, setNode] = useState<string>();
  const nodes: NodesWire = live.value?.nodes ?? [];
  const away = nodes.filter(({ up, endpoint }) => !up && endpoint !== node);
  const body = { ...(tube !== undefined && { tube }), ...(node !== undefined && { node }) };
  return (
    <Dialog title={t('act.repair')}>
      <ConfirmForm
        confirming={confirming}
        label={t('repair.count')}
        work={async () => {
          askBulk([{ name: 'repair', body }], () => undefined);
          return undefined;
        }}
      >
        <p>{t('repair.text')}</p>
        <TubeSelect value={tube} all onChange={setTube} />
        <label>
          <span>{t('repair.node')}</span>
          <select
            value={node ?? ''}
            onChange={({ currentTarget: { value } }) => setNode(value === '' ? undefined : value)}
          >
            <option value="">{t('repair.noNode')}</option>
            {nodes.map(({ endpoint }) => (
              <option key={endpoint} value={endpoint}>
                {endpoint}
              </option>
            ))}
          </select>
        </label>
        {nodes.some(({ up, drained, endpoint }) => up && !drained && endpoint === node) && (
          <p class="warning">{t('repair.answers')}</p>
        )}
        {away.length > 0 && (
          <p class="warning">
            {t('repair.away', { nodes: away.map(({ endpoint }) => endpoint).join(', ') })}
          </p>
        )}
      </ConfirmForm>
    </Dialog>
  );
}
