-- From when on an account is served history, as text: `published`, `none`, or dates; null is as the server has it.
alter table account add column floors text collate "C";
