"""What founds and keeps a consortium: the organiser's desk, folders of all members, and the doctor.

The organiser's private key is used here and nowhere else.

Open ``organiser.py`` for invites, answers and the sealed manifest, ``membership.py`` for parties that pause or leave,
``doctor_checks.py`` for everything that ``privity doctor`` looks at, and ``provisioning.py`` for a consortium on one
machine.
"""
