// Confirms the revocation of an account. It cannot be undone, so the name has to be typed.

import { openDialog } from '../../dialog.js';
import { el } from '../../dom.js';
import { phrase } from '../../phrases/admin.js';
import { field } from './shell.js';

const REASON_MAX = 200;

/** `onSure` gets the reason. */
export function askToRevoke(account, isOwn, onSure) {
  const name = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', autofocus: true });
  const reason = el('input', { type: 'text', maxlength: REASON_MAX, autocomplete: 'off' });
  const sure = el('button', { class: 'danger', disabled: true }, phrase('revoke'));
  const isTyped = () => name.value.trim() === account.account;
  name.addEventListener('input', () => {
    sure.disabled = !isTyped();
  });
  const send = (event) => {
    event.preventDefault();
    if (!isTyped()) return;
    dialog.close();
    onSure(reason.value.trim());
  };
  const dialog = openDialog(
    'revoke',
    phrase('revoke_title', account.account),
    el('p', {}, phrase(isOwn ? 'revoke_own' : 'revoke_text')),
    el(
      'form',
      { onsubmit: send },
      el('div', { class: 'fields' }, field(phrase('type_name'), name), field(phrase('reason'), reason)),
      el(
        'div',
        { class: 'choices' },
        sure,
        el('button', { type: 'button', onclick: () => dialog.close() }, phrase('keep_it')),
      ),
    ),
  );
}
